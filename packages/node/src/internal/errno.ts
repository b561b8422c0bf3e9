import { Directory } from "@scv/core"

const words: Record<string, readonly [kind: Directory.DirectoryError["kind"], detail: string]> = {
  ENOENT: ["not_found", "no such file"],
  ENOTDIR: ["not_a_directory", "a part of the path is not a directory"],
  EISDIR: ["not_a_file", "is a directory, not a file"],
  ENXIO: ["not_a_file", "is a socket or a device, not a regular file"],
  ENODEV: ["not_a_file", "is a device, not a regular file"],
  EEXIST: ["already_exists", "exists already"],
  EACCES: ["permission", "permission denied"],
  EPERM: ["permission", "not permitted"],
  EROFS: ["permission", "the file system is read-only"],
  ENAMETOOLONG: ["limit", "the path is longer than the system allows"],
  ELOOP: ["io", "more than 40 links on the way"],
  ENOSPC: ["io", "no space left on the device"],
  EDQUOT: ["io", "the disk quota is used up"],
  EFBIG: ["io", "the file is larger than the system allows here"],
  EMFILE: ["io", "too many open files in this process"],
  ENFILE: ["io", "too many open files on this machine"],
  ERR_INVALID_ARG_VALUE: ["invalid_input", "expected a path without NUL"],
  EIO: ["io", "the device reports an error"]
}

/** The system's error code of something thrown, or undefined for anything else. */
export const codeOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** A system error in the words of the contract. What is no system error is a defect, and is thrown on. */
export const toDirectoryError = (error: unknown, path: string): Directory.DirectoryError => {
  if (error instanceof Directory.DirectoryError) return error
  const code = codeOf(error)
  if (code === undefined) throw error
  const [kind, detail] = words[code] ?? ["io", `the system answers ${code}`]
  return new Directory.DirectoryError({ kind, path, detail })
}
