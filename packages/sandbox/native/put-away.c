#include "put-away.h"

#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job-cgroups.h"
#include "job-life.h"
#include "job-table.h"

#define QUIET_MS 10
#define AT_LAST_US 100000
#define MOST_TOLD 16
/* Of one who does it by itself, and keeps others waiting with each. */
#define QUIET_ALONE_MS 1
#define AT_LAST_ALONE_US 5000

static int is_beside, are_descriptors_few;
static pid_t sweeper;

void sweep_beside_us(void) { is_beside = 1; }

int is_sweeper(pid_t pid) { return sweeper > 0 && pid == sweeper; }

/* Once: its number may be anybody's after that, and to wait for -1 would be to wait for whoever comes first. */
static void reap_keeper(struct job *job) {
  if (job->fds.keeper > 0) waitpid(job->fds.keeper, NULL, 0);
  job->fds.keeper = -1;
}

void put_away(struct job *job) {
  reap_keeper(job);
  remove_cgroups(job);
  forget_job(job);
}

static void put_all_told_away(void) {
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) put_away(job);
}

/* Beside us. */

#define MOST_HELD (MOST_TOLD * (MAX_TMPFS + 2))

static int by_number(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

static int add_held(int *held, int count, int fd) {
  if (fd >= 0 && count < MOST_HELD) held[count++] = fd;
  return count;
}

/* SECURITY: T-16 — whoever waits for the end of a pipe, or of the launcher, must not wait for us. */
static void keep_only_mounts(void) {
  static int held[MOST_HELD + 1];
  int count = 0;
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) {
    count = add_held(held, count, job->mounts);
    count = add_held(held, count, job->outer_mounts);
    for (int at = 0; at < job->tmpfs_count; at += 1) count = add_held(held, count, job->tmpfs[at]);
  }
  qsort(held, (size_t)count, sizeof held[0], by_number);
  unsigned int next = 0;
  for (int at = 0; at < count; next = (unsigned int)held[at++] + 1) {
    if ((unsigned int)held[at] > next) close_range(next, (unsigned int)held[at] - 1, 0);
  }
  close_range(next, ~0U, 0);
}

/* What is open is closed with its end: then the mounts are taken apart, for nobody else has them open any more. */
static _Noreturn void sweep(void) {
  keep_only_mounts();
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) remove_cgroups(job);
  _exit(0);
}

static void sweep_told(void) {
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) reap_keeper(job);
  sweeper = fork();
  if (sweeper == 0) sweep();
  if (sweeper < 0) {
    put_all_told_away();
    return;
  }
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) {
    forget_cgroups(job);
    forget_job(job);
  }
}

/* 0 while it is at work: there is one at a time. */
static int is_swept(int options) {
  if (sweeper > 0 && waitpid(sweeper, NULL, options) == 0) return 0;
  sweeper = 0;
  return 1;
}

static int is_time(int is_quiet) {
  uint64_t now = now_us(), at_last = is_beside ? AT_LAST_US : AT_LAST_ALONE_US;
  int told = 0, is_old = 0;
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job), told += 1) is_old |= now - job->told_us >= at_last;
  return told > 0 && (is_quiet || is_old || told >= MOST_TOLD);
}

void put_told_away(int is_quiet) {
  if (!is_swept(WNOHANG) || !is_time(is_quiet)) return;
  if (is_beside) sweep_told();
  else put_all_told_away();
}

int quiet_ms(void) {
  if (sweeper <= 0 && next_told(NULL) == NULL) return -1;
  return is_beside ? QUIET_MS : QUIET_ALONE_MS;
}

void put_all_away(void) {
  put_all_told_away();
  (void)is_swept(0);
}

/* With fewer than this for each of them, jobs could run out of descriptors before they run out of places. */
#define PER_JOB 16

void hold_for_less_long(int descriptors) { are_descriptors_few = descriptors < MAX_JOBS * PER_JOB; }

/* Who has heard of an end is not refused the next one for what is left of it. Keepers count where processes are limited; they are
 * mostly dead by now, and gone for little. */
static void give_back_what_is_scarce(void) {
  if (are_descriptors_few) put_all_told_away();
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) reap_keeper(job);
}

struct job *place_for_one(void) {
  give_back_what_is_scarce();
  struct job *place = free_place();
  if (place != NULL) return place;
  put_all_told_away();
  return free_place();
}
