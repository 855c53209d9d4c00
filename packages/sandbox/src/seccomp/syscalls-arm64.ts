import { readSyscallTable, type SyscallTable } from './syscall-table.ts';

/**
 * include/uapi/asm-generic/unistd.h for 64 bits, up to Linux 6.18. 244 to 259 belong to other architectures, 403 to 423 to
 * those of 32 bits.
 */
export const ARM64_SYSCALLS: SyscallTable = readSyscallTable(
  0xc00000b7,
  `
  0 io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr lgetxattr
  10 fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr getcwd lookup_dcookie
  19 eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch
  28 inotify_rm_watch ioctl ioprio_set ioprio_get flock mknodat mkdirat unlinkat symlinkat linkat renameat
  39 umount2 mount pivot_root nfsservctl statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir
  51 chroot fchmod fchmodat fchownat fchown openat close vhangup pipe2 quotactl getdents64 lseek read write
  65 readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee
  78 readlinkat newfstatat fstat sync fsync fdatasync sync_file_range timerfd_create timerfd_settime
  87 timerfd_gettime utimensat acct capget capset personality exit exit_group waitid set_tid_address unshare
  98 futex set_robust_list get_robust_list nanosleep getitimer setitimer kexec_load init_module delete_module
  107 timer_create timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime
  114 clock_getres clock_nanosleep syslog ptrace sched_setparam sched_setscheduler sched_getscheduler
  121 sched_getparam sched_setaffinity sched_getaffinity sched_yield sched_get_priority_max
  126 sched_get_priority_min sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend
  134 rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority
  141 getpriority reboot setregid setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid
  152 setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname sethostname setdomainname getrlimit
  164 setrlimit getrusage umask prctl getcpu gettimeofday settimeofday adjtimex getpid getppid getuid geteuid
  176 getgid getegid gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
  186 msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl shmat shmdt socket socketpair
  200 bind listen accept connect getsockname getpeername sendto recvfrom setsockopt getsockopt shutdown sendmsg
  212 recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve mmap fadvise64 swapon swapoff
  226 mprotect msync mlock munlock mlockall munlockall mincore madvise remap_file_pages mbind get_mempolicy
  237 set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo perf_event_open accept4 recvmmsg
  260 wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at clock_adjtime syncfs setns
  269 sendmmsg process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2
  277 seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2
  288 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq kexec_file_load
  424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig
  432 fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
  442 mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret
  448 process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake
  455 futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
  463 setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
`,
);
