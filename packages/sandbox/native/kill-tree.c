#include "kill-tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "texts.h"

struct process {
  pid_t pid, parent;
  int doomed;
  uint64_t user_ticks, system_ticks; /* with those of children that it has waited for */
};

static int look_at(const char *pid, struct process *process) {
  char path[64], stat[512];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  if (read_text(path, stat, sizeof stat) < 0) return 0;
  /* The name is in parentheses and may hold anything, parentheses included. */
  const char *after = strrchr(stat, ')');
  unsigned long user, system, of_children, in_kernel_for_children;
  pid_t parent;
  if (after == NULL || sscanf(after + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &parent, &user, &system,
        &of_children, &in_kernel_for_children) != 5) return 0;
  *process = (struct process){.pid = (pid_t)atoi(pid), .parent = parent, .user_ticks = user + of_children,
    .system_ticks = system + in_kernel_for_children};
  return 1;
}

static int is_doomed(const struct process *list, size_t count, pid_t pid) {
  for (size_t at = 0; at < count; at += 1) {
    if (list[at].pid == pid) return list[at].doomed;
  }
  return 0;
}

/* Whom the launcher spares, and with it what is below it. */
static int (*is_spared)(pid_t pid);

static int doom(struct process *list, size_t count, struct process *process, int signal_number) {
  const pid_t root = getpid();
  if (process->doomed || process->pid == root || (is_spared != NULL && is_spared(process->pid))) return 0;
  if (process->parent != root && !is_doomed(list, count, process->parent)) return 0;
  process->doomed = 1;
  kill(process->pid, signal_number);
  return 1;
}

enum { MOST = 65536 };
static struct process everybody[MOST];

/* How many are listed. Each is sent its signal as it is found: while hundreds run, there is little time for us, and the more of
 * them are stopped, the more there is. */
static size_t signal_descendants(int signal_number) {
  size_t count = 0;
  DIR *proc = opendir("/proc");
  if (proc == NULL) return 0;
  struct dirent *entry;
  while (count < MOST && (entry = readdir(proc)) != NULL) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (!look_at(entry->d_name, &everybody[count])) continue;
    doom(everybody, count, &everybody[count], signal_number);
    count += 1;
  }
  closedir(proc);
  /* Descendants of descendants may come before their parents in the list, so until nothing is found any more. */
  for (int found = 1; found;) {
    found = 0;
    for (size_t at = 0; at < count; at += 1) found |= doom(everybody, count, &everybody[at], signal_number);
  }
  return count;
}

int signal_fenced(struct tree tree, int number) {
  /* SECURITY: T-16, T-40 — whoever was there when it was made forks no more when it is over, and nobody else was reached. */
  if (tree.is_fenced) (void)kill(-1, number);
  return tree.is_fenced;
}

void kill_at_once(struct tree tree, uint64_t *user_us, uint64_t *system_us) {
  uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
  (void)signal_fenced(tree, SIGSTOP);
  size_t count = signal_descendants(SIGSTOP);
  *user_us = *system_us = 0;
  for (size_t at = 0; at < count; at += 1) {
    if (!everybody[at].doomed) continue;
    kill(everybody[at].pid, SIGKILL);
    *user_us += everybody[at].user_ticks * tick_us;
    *system_us += everybody[at].system_ticks * tick_us;
  }
  (void)signal_fenced(tree, SIGKILL);
}

pid_t next_child(char **list) {
  char *end;
  long pid = strtol(*list, &end, 10);
  /* SECURITY: T-40 — what has no blank behind it was cut off, and is somebody else's number. */
  if (*end != ' ' || pid <= 1) return 0;
  *list = end;
  return (pid_t)pid;
}

/* 0, or -1 where the kernel does not list them. */
static int kill_children(void) {
  char list[4096];
  if (read_text("/proc/thread-self/children", list, sizeof list) < 0) return -1;
  char *rest = list;
  for (pid_t pid; (pid = next_child(&rest)) != 0;) kill(pid, SIGKILL);
  return 0;
}

int kill_strays(int (*spared)(pid_t pid)) {
  char list[4096];
  uint64_t user_us, system_us;
  int found = 0;
  if (read_text("/proc/thread-self/children", list, sizeof list) < 0) return 0;
  char *rest = list;
  for (pid_t pid; (pid = next_child(&rest)) != 0;) {
    if (spared(pid)) continue;
    found = 1;
    waitpid(pid, NULL, WNOHANG);
  }
  /* Who ended just now has left us its own children, which are not on the list yet: it takes one without anybody. */
  if (!found) return 0;
  is_spared = spared;
  kill_at_once((struct tree){0}, &user_us, &system_us);
  is_spared = NULL;
  return 1;
}

static void kill_what_is_left(struct tree tree) {
  /* What bubblewrap leaves is the init of a pid namespace, mostly about to end: everything in there dies with it, and
   * to go through all processes of the machine would take longer than the command did. */
  if (tree.is_wrapped && kill_children() == 0) return;
  if (signal_fenced(tree, SIGKILL)) return;
  /* SECURITY: T-16 — stopped first, so that nobody forks while the others are killed; what forked before that is found
   * the next time around, because orphans become our children. */
  signal_descendants(SIGSTOP);
  signal_descendants(SIGKILL);
}

/* Nobody comes after them. */
static void reap_everybody(void) {
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) continue;
}

void kill_tree(struct tree tree) {
  for (;;) {
    pid_t reaped;
    while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    if (reaped < 0 && errno == ECHILD) return;
    if (!tree.is_wrapped && signal_fenced(tree, SIGKILL)) {
      reap_everybody();
      return;
    }
    kill_what_is_left(tree);
    if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD) return;
  }
}
