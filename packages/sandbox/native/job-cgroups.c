#include "job-cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "texts.h"

static char *joined(const char *directory, const char *file) {
  char *path;
  return asprintf(&path, "%s/%s", directory, file) < 0 ? NULL : path;
}

/* The rest is for what cannot be done without: a file can be opened again. */
static int hold_below = 512;

void hold_fewer(int descriptors) {
  if (descriptors / 4 < hold_below) hold_below = descriptors / 4;
}

static int held(int fd) {
  if (fd < hold_below) return fd;
  close(fd);
  return -1;
}

/* As it was opened for writing it is read back, so it says what was written there. -1 with errno; `*fd` is then -1, too. */
static int set(const char *path, const char *value, int *fd) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return -1;
  int done = write_all(file, value, strlen(value)), why = errno;
  *fd = held(file);
  errno = why;
  return done;
}

static const char *make_all(const struct request *request, struct job *job) {
  for (int at = 0; at < request->cgroup_count; at += 1) {
    if (mkdir(request->cgroups[at], 0755) != 0) return "a cgroup cannot be made";
    job->cgroups[job->cgroup_count++] = strdup(request->cgroups[at]);
  }
  for (int at = 0; at < request->cgroup_file_count; at += 1) {
    const struct cgroup_file *file = &request->cgroup_files[at];
    char *path = joined(request->cgroups[file->group], file->file);
    if (path == NULL) return "there is no memory for the cgroup";
    int place = job->cgroup_file_count++;
    job->cgroup_files[place].path = path;
    job->cgroup_files[place].is_setting = file->value != NULL;
    job->cgroup_files[place].fd = -1;
  }
  return NULL;
}

const char *make_cgroups(const struct request *request, struct job *job) {
  const char *fault = make_all(request, job);
  if (fault == NULL) return NULL;
  int why = errno;
  remove_cgroups(job);
  errno = why;
  return fault;
}

const char *limit_cgroups(const struct request *request, struct job *job) {
  for (int at = 0; at < request->cgroup_file_count; at += 1) {
    const char *value = request->cgroup_files[at].value;
    if (value != NULL && set(job->cgroup_files[at].path, value, &job->cgroup_files[at].fd) != 0) return "a limit of the cgroup cannot be set";
  }
  return NULL;
}

void open_counters(struct job *job) {
  for (int at = 0; at < job->cgroup_file_count; at += 1) {
    int *fd = &job->cgroup_files[at].fd;
    if (!job->cgroup_files[at].is_setting && *fd < 0) *fd = held(open(job->cgroup_files[at].path, O_RDONLY | O_CLOEXEC));
  }
}

void append_cgroup_files(const struct job *job, struct buffer *buffer, uint16_t tag, int settings) {
  for (int at = 0; at < job->cgroup_file_count; at += 1) {
    if (job->cgroup_files[at].is_setting && !settings) continue;
    const char *path = job->cgroup_files[at].path;
    if (job->cgroup_files[at].fd >= 0) append_open_file(buffer, tag, path, job->cgroup_files[at].fd);
    else append_file(buffer, tag, path, path);
  }
}

void stop_forking(const struct job *job) {
  static const char FILE_NAME[] = "/pids.max";
  for (int at = 0; at < job->cgroup_file_count; at += 1) {
    const char *path = job->cgroup_files[at].path;
    size_t length = strlen(path);
    if (length < sizeof FILE_NAME || strcmp(path + length - (sizeof FILE_NAME - 1), FILE_NAME) != 0) continue;
    (void)write_text(path, "0");
  }
}

void kill_in_cgroups(const struct job *job) {
  for (int at = 0; at < job->cgroup_count; at += 1) {
    char *path = joined(job->cgroups[at], "cgroup.kill");
    if (path != NULL) (void)write_text(path, "1");
    free(path);
  }
}

uint64_t cpu_ms(const struct job *job) {
  char text[1024];
  if (job->cpu_counter == NULL || read_text(job->cpu_counter, text, sizeof text) <= 0) return 0;
  if (job->cpu_counter_unit == 0) return strtoull(text, NULL, 10) / 1000000;
  const char *usage = strstr(text, "usage_usec ");
  return usage == NULL ? 0 : strtoull(usage + strlen("usage_usec "), NULL, 10) / 1000;
}

/* Everything in them was reaped, but the kernel may take a moment to see it. */
static void remove_patiently(const char *directory) {
  for (int attempt = 0; attempt < 50; attempt += 1) {
    if (rmdir(directory) == 0 || errno != EBUSY) return;
    usleep(2000);
  }
}

void remove_cgroups(struct job *job) {
  for (int at = job->cgroup_count; at > 0; at -= 1) remove_patiently(job->cgroups[at - 1]);
  forget_cgroups(job);
}

void forget_cgroups(struct job *job) {
  while (job->cgroup_file_count > 0) {
    int last = --job->cgroup_file_count;
    if (job->cgroup_files[last].fd >= 0) close(job->cgroup_files[last].fd);
    free(job->cgroup_files[last].path);
  }
  while (job->cgroup_count > 0) free(job->cgroups[--job->cgroup_count]);
}
