/*
 * Exchanges names atomically and without pause: exchange A B [A B ...]. Says "ready" when each pair was exchanged once,
 * and how many exchanges there were when it is told to stop, by SIGTERM or by the end of its input. It watches its input
 * so that it never outlives whoever started it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system's own number: not every libc has the call. */
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

static volatile sig_atomic_t stopped = 0;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
}

static int has_ended(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char byte;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc % 2 == 0) {
    fprintf(stderr, "usage: exchange A B [A B ...]\n");
    return 2;
  }
  signal(SIGTERM, stop);
  unsigned long exchanges = 0;
  for (unsigned long round = 0; !stopped; round++) {
    for (int pair = 1; pair < argc; pair += 2) {
      if (syscall(SYS_renameat2, AT_FDCWD, argv[pair], AT_FDCWD, argv[pair + 1], RENAME_EXCHANGE) != 0) {
        fprintf(stderr, "exchange %s: %s\n", argv[pair], strerror(errno));
        return 1;
      }
      exchanges++;
    }
    if (round == 0) {
      puts("ready");
      fflush(stdout);
    }
    if (round % 256 == 0 && has_ended()) break;
  }
  printf("%lu\n", exchanges);
  return 0;
}
