/*
 * Tries, one after the other, what the seccomp program of Tier C refuses and what it must leave alone, and prints one line
 * for each: the name of the attempt and OK, the name of the error, or the name of the signal. It takes no arguments and
 * writes only into a directory that it makes and removes itself. Without a filter no attempt does harm: those that need a
 * capability get arguments that the kernel refuses or that change nothing.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH ((uint64_t)0xdeadbeef << 32)
#define AT_CWD ((uint64_t)AT_FDCWD)
#define PTR(pointer) ((uint64_t)(uintptr_t)(pointer))
#define SUID_MODE ((uint64_t)04755)
#define SGID_MODE ((uint64_t)02755)

enum {
  NEW_NS = 0x00020000,
  NEW_USER = 0x10000000,
  NR_IO_URING_SETUP = 425,
  NR_OPEN_TREE = 428,
  NR_FSOPEN = 430,
  NR_CLONE3 = 435,
  NR_OPENAT2 = 437,
  NR_PIDFD_GETFD = 438,
  NR_MOUNT_SETATTR = 442,
  NR_LANDLOCK_CREATE_RULESET = 444,
  NR_MEMFD_SECRET = 447,
  NR_FCHMODAT2 = 452,
  NR_OPEN_TREE_ATTR = 467,
  NR_UNREVIEWED = 470,
  NR_GAP = 400,
};

static void report(const char *name, long result) {
  printf("%s %s\n", name, result >= 0 ? "OK" : strerrorname_np(errno));
  fflush(stdout);
}

/* For calls whose result is a descriptor that nobody needs. */
static void report_descriptor(const char *name, long result) {
  report(name, result);
  if (result >= 0) close((int)result);
}

static long call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return syscall(number, a, b, c, d, 0, 0); }

/* In a child, because it may end the process or change it for good. The child's errno is its exit code. */
static void report_in_child(const char *name, long (*attempt)(void)) {
  pid_t child = fork();
  if (child == 0) {
    errno = 0;
    _exit(attempt() >= 0 ? 0 : errno);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    report(name, -1);
    return;
  }
  if (WIFSIGNALED(status)) {
    printf("%s SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
    fflush(stdout);
    return;
  }
  errno = WEXITSTATUS(status);
  report(name, errno == 0 ? 0 : -1);
}

static long traceme(void) { return call(SYS_ptrace, 0, 0, 0, 0); }
static long unshare_user(void) { return call(SYS_unshare, NEW_USER, 0, 0, 0); }
static long unshare_high_bits(void) { return call(SYS_unshare, HIGH | NEW_USER, 0, 0, 0); }
static long chroot_here(void) { return call(SYS_chroot, PTR("."), 0, 0, 0); }
static long pivot_here(void) { return call(SYS_pivot_root, PTR("."), PTR("."), 0, 0); }
static long set_personality(void) { return call(SYS_personality, 0x0400000, 0, 0, 0); }
static long set_personality_high_bits(void) { return call(SYS_personality, HIGH | 0x0400000, 0, 0, 0); }
static long keep_personality(void) { return call(SYS_personality, 0xffffffff, 0, 0, 0); }

static long clone_with(uint64_t flags) {
  long child = call(SYS_clone, flags | SIGCHLD, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}
static long clone_plain(void) { return clone_with(0); }
static long clone_mounts(void) { return clone_with(NEW_USER | NEW_NS); }
static long clone_high_bits(void) { return clone_with(HIGH | NEW_USER); }

static long clone3_plain(void) {
  struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; } arguments = {0};
  arguments.exit_signal = SIGCHLD;
  long child = call(NR_CLONE3, PTR(&arguments), sizeof arguments, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}

#ifdef __x86_64__
/* getpid of the 32-bit table. */
static long other_architecture(void) {
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result;
}
#endif

/* A terminal of its own, so that without a filter the kernel has no other reason to refuse. */
static int own_terminal(void) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return -1;
  setsid();
  int terminal = open(ptsname(master), O_RDWR);
  if (terminal >= 0) ioctl(terminal, TIOCSCTTY, 0);
  return terminal;
}
static long type_into_terminal(void) { return call(SYS_ioctl, (uint64_t)own_terminal(), TIOCSTI, PTR("x"), 0); }
static long type_high_bits(void) { return call(SYS_ioctl, (uint64_t)own_terminal(), HIGH | TIOCSTI, PTR("x"), 0); }
static long paste_into_terminal(void) { return call(SYS_ioctl, (uint64_t)own_terminal(), TIOCLINUX, PTR("\3"), 0); }
static long set_line_discipline(void) {
  int discipline = 0;
  return call(SYS_ioctl, (uint64_t)own_terminal(), TIOCSETD, PTR(&discipline), 0);
}
static long terminal_size(void) {
  struct winsize size;
  return ioctl(own_terminal(), TIOCGWINSZ, &size);
}

static void try_processes(void) {
  report_in_child("ptrace", traceme);
  report("process_vm_readv", call(SYS_process_vm_readv, (uint64_t)getpid(), 0, 0, 0));
  report("process_vm_writev", call(SYS_process_vm_writev, (uint64_t)getpid(), 0, 0, 0));
  report("kcmp", call(SYS_kcmp, (uint64_t)getpid(), (uint64_t)getpid(), 1, 0));
  report("pidfd_getfd", call(NR_PIDFD_GETFD, (uint64_t)-1, 0, 0, 0));
  report_in_child("unshare_user", unshare_user);
  report_in_child("unshare_high_bits", unshare_high_bits);
  report("setns", call(SYS_setns, (uint64_t)-1, 0, 0, 0));
  report_in_child("clone_plain", clone_plain);
  report_in_child("clone_mounts", clone_mounts);
  report_in_child("clone_high_bits", clone_high_bits);
  report_in_child("clone3", clone3_plain);
  report_in_child("personality_read_implies_exec", set_personality);
  report_in_child("personality_high_bits", set_personality_high_bits);
  report_in_child("personality_query", keep_personality);
#ifdef __x86_64__
  report_in_child("other_architecture", other_architecture);
  report("x32", call(0x40000000 | SYS_getpid, 0, 0, 0, 0));
#endif
  report("number_unreviewed", call(NR_UNREVIEWED, 0, 0, 0, 0));
  report("number_in_gap", call(NR_GAP, 0, 0, 0, 0));
}

static void try_kernel(void) {
  report("mount", call(SYS_mount, PTR("none"), PTR("/nowhere"), PTR("tmpfs"), 0));
  report("umount2", call(SYS_umount2, PTR("/nowhere"), 0, 0, 0));
  report_in_child("pivot_root", pivot_here);
  report_in_child("chroot", chroot_here);
  report_descriptor("open_tree", call(NR_OPEN_TREE, AT_CWD, PTR("/"), 0, 0));
  report_descriptor("open_tree_attr", call(NR_OPEN_TREE_ATTR, AT_CWD, PTR("/"), 0, 0));
  report_descriptor("fsopen", call(NR_FSOPEN, PTR("tmpfs"), 0, 0, 0));
  report("mount_setattr", call(NR_MOUNT_SETATTR, (uint64_t)-1, PTR(""), 0, 0));
  report("keyctl", call(SYS_keyctl, 0, (uint64_t)-3, 0, 0));
  report("add_key", call(SYS_add_key, 0, 0, 0, 0));
  report("bpf", call(SYS_bpf, 0, 0, 0, 0));
  report("perf_event_open", call(SYS_perf_event_open, 0, 0, 0, 0));
  report("io_uring_setup", call(NR_IO_URING_SETUP, 1, 0, 0, 0));
  report_descriptor("userfaultfd", call(SYS_userfaultfd, 1, 0, 0, 0));
  report_descriptor("fanotify_init", call(SYS_fanotify_init, 0x200, 0, 0, 0));
  report_descriptor("memfd_secret", call(NR_MEMFD_SECRET, 0, 0, 0, 0));
  report("name_to_handle_at", call(SYS_name_to_handle_at, AT_CWD, PTR("."), 0, 0));
  report("open_by_handle_at", call(SYS_open_by_handle_at, (uint64_t)-1, 0, 0, 0));
  report("init_module", call(SYS_init_module, 0, 0, 0, 0));
  report("kexec_load", call(SYS_kexec_load, 0, 0xffff, 0, 0));
  report("reboot", call(SYS_reboot, 0, 0, 0, 0));
  report("syslog", call(SYS_syslog, 10, 0, 0, 0));
  report("settimeofday", call(SYS_settimeofday, 0, 0, 0, 0));
  report("sethostname", call(SYS_sethostname, 0, (uint64_t)-1, 0, 0));
  report_in_child("tiocsti", type_into_terminal);
  report_in_child("tiocsti_high_bits", type_high_bits);
  report_in_child("tioclinux", paste_into_terminal);
  report_in_child("tiocsetd", set_line_discipline);
  report_in_child("tiocgwinsz", terminal_size);
}

/* On a file of its own: another one's may not be had anyway. */
static void try_leases(void) {
  int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  report("setlease", call(SYS_fcntl, (uint64_t)fd, F_SETLEASE, F_WRLCK, 0));
  report("setlease_high_bits", call(SYS_fcntl, (uint64_t)fd, HIGH | F_SETLEASE, F_WRLCK, 0));
  report("getlease", call(SYS_fcntl, (uint64_t)fd, F_GETLEASE, 0, 0));
  report("getfl", call(SYS_fcntl, (uint64_t)fd, F_GETFL, 0, 0));
  close(fd);
}

static void try_socket(const char *name, uint64_t family, uint64_t type, uint64_t protocol) {
  report_descriptor(name, call(SYS_socket, family, type, protocol, 0));
}

static void try_pair(const char *name, uint64_t family, uint64_t type) {
  int pair[2] = {-1, -1};
  report(name, call(SYS_socketpair, family, type, 0, PTR(pair)));
  close(pair[0]);
  close(pair[1]);
}

/* Half of a datagram pair, turned to another address: a way around a refused AF_UNIX. ENOENT and so on: it got through. */
static long datagram_pair_connects(void) {
  int pair[2];
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nowhere/socket"};
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return -1;
  return connect(pair[0], (struct sockaddr *)&address, sizeof address);
}

static void try_sockets(void) {
  try_socket("socket_inet_stream", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  try_socket("socket_inet_dgram", AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  try_socket("socket_inet6_stream", AF_INET6, SOCK_STREAM, 0);
  try_socket("socket_netlink_route", AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
  try_socket("socket_netlink_audit", AF_NETLINK, SOCK_RAW, 9);
  try_socket("socket_netlink_high_bits", AF_NETLINK, SOCK_RAW, HIGH | 9);
  try_socket("socket_unix", AF_UNIX, SOCK_STREAM, 0);
  try_socket("socket_unix_high_bits", HIGH | AF_UNIX, SOCK_STREAM, 0);
  try_socket("socket_packet", AF_PACKET, SOCK_RAW, 0);
  try_socket("socket_packet_high_bits", HIGH | AF_PACKET, SOCK_RAW, 0);
  try_socket("socket_vsock", AF_VSOCK, SOCK_STREAM, 0);
  try_socket("socket_alg", AF_ALG, SOCK_SEQPACKET, 0);
  try_socket("socket_inet_raw", AF_INET, SOCK_RAW, 1);
  try_socket("socket_inet_raw_high_bits", AF_INET, HIGH | SOCK_RAW | SOCK_CLOEXEC, 1);
  try_socket("socket_inet_packet", AF_INET, SOCK_PACKET, 0);
  try_pair("socketpair_stream", AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC);
  try_pair("socketpair_seqpacket", AF_UNIX, SOCK_SEQPACKET);
  try_pair("socketpair_dgram", AF_UNIX, SOCK_DGRAM);
  try_pair("socketpair_raw", AF_UNIX, SOCK_RAW);
  try_pair("socketpair_inet", AF_INET, SOCK_STREAM);
  report_in_child("socketpair_dgram_connect", datagram_pair_connects);
}

/* Nothing may be left with a set-id bit, whatever the calls returned. */
static void report_set_id_files(void) {
  int found = 0;
  DIR *directory = opendir(".");
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    struct stat status;
    if (lstat(entry->d_name, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 06000) != 0) found++;
  }
  if (directory != NULL) closedir(directory);
  printf("set_id_files_left %s\n", found == 0 ? "none" : "some");
}

static void try_modes(void) {
  report_descriptor("openat_create", call(SYS_openat, AT_CWD, PTR("plain"), O_CREAT | O_RDWR, 0644));
  int plain = open("plain", O_RDWR);
  report_descriptor("openat_mode_without_create", call(SYS_openat, AT_CWD, PTR("plain"), O_RDONLY, 07777));
  report_descriptor("openat_create_suid", call(SYS_openat, AT_CWD, PTR("a"), O_CREAT | O_RDWR, SUID_MODE));
  report_descriptor("openat_create_high_bits", call(SYS_openat, AT_CWD, PTR("b"), HIGH | O_CREAT | O_RDWR, HIGH | SUID_MODE));
  report_descriptor("openat_tmpfile_sgid", call(SYS_openat, AT_CWD, PTR("."), O_TMPFILE | O_RDWR, SGID_MODE));
  struct { uint64_t flags, mode, resolve; } how = {O_CREAT | O_RDWR, 04755, 0};
  report_descriptor("openat2", call(NR_OPENAT2, AT_CWD, PTR("c"), PTR(&how), sizeof how));
  report("fchmod", call(SYS_fchmod, (uint64_t)plain, 0755, 0, 0));
  report("fchmod_suid", call(SYS_fchmod, (uint64_t)plain, SUID_MODE, 0, 0));
  report("fchmodat", call(SYS_fchmodat, AT_CWD, PTR("plain"), 0755, 0));
  report("fchmodat_suid", call(SYS_fchmodat, AT_CWD, PTR("plain"), SUID_MODE, 0));
  report("fchmodat_sgid", call(SYS_fchmodat, AT_CWD, PTR("plain"), SGID_MODE, 0));
  report("fchmodat_high_bits", call(SYS_fchmodat, AT_CWD, PTR("plain"), HIGH | 0xffff0000 | SUID_MODE, 0));
  report("fchmodat2_suid", call(NR_FCHMODAT2, AT_CWD, PTR("plain"), SUID_MODE, 0));
  report("mknodat_suid", call(SYS_mknodat, AT_CWD, PTR("d"), S_IFREG | SUID_MODE, 0));
  report("mkdirat", call(SYS_mkdirat, AT_CWD, PTR("directory"), 0755, 0));
#ifdef __x86_64__
  report_descriptor("open_create_suid", call(SYS_open, PTR("e"), O_CREAT | O_RDWR, SUID_MODE, 0));
  report_descriptor("creat_suid", call(SYS_creat, PTR("f"), SUID_MODE, 0, 0));
  report("chmod", call(SYS_chmod, PTR("plain"), 0755, 0, 0));
  report("chmod_suid", call(SYS_chmod, PTR("plain"), SUID_MODE, 0, 0));
  report("mknod_suid", call(SYS_mknod, PTR("g"), S_IFREG | SUID_MODE, 0, 0));
#endif
  close(plain);
  report_set_id_files();
}

/* In the working directory if it may, because what is left there outlives the sandbox. */
static void try_files(void) {
  static const char *const places[] = {"./probe-XXXXXX", "/tmp/probe-XXXXXX", "/dev/shm/probe-XXXXXX"};
  char place[32];
  const char *made = NULL;
  for (size_t i = 0; made == NULL && i < sizeof places / sizeof *places; i++) made = mkdtemp(strcpy(place, places[i]));
  int back = open(".", O_RDONLY | O_DIRECTORY);
  if (made == NULL || chdir(made) < 0) {
    report("writable_directory", -1);
    return;
  }
  try_modes();
  static const char *const names[] = {"plain", "a", "b", "c", "d", "e", "f", "g"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(names[i]);
  rmdir("directory");
  if (fchdir(back) < 0 || rmdir(made) < 0) report("clean_up", -1);
  close(back);
}

static void *in_thread(void *argument) { return argument; }

static void try_ordinary(void) {
  pthread_t thread;
  errno = pthread_create(&thread, NULL, in_thread, NULL);
  report("thread", errno == 0 ? pthread_join(thread, NULL) : -1);
  pid_t child = vfork();
  if (child == 0) _exit(0);
  report("vfork", child < 0 ? -1 : waitpid(child, NULL, 0));
  report_descriptor("memfd_create", call(SYS_memfd_create, PTR("probe"), 0, 0, 0));
  report("landlock_create_ruleset", call(NR_LANDLOCK_CREATE_RULESET, 0, 0, 1, 0));
  report("seccomp", call(SYS_seccomp, 2, 0, PTR(&(uint32_t){0x7fff0000}), 0));
}

int main(void) {
  try_processes();
  try_kernel();
  try_sockets();
  try_files();
  try_leases();
  try_ordinary();
  return 0;
}
