/** A moment, given in milliseconds since 1970, in ISO 8601. */
export const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString()
