import { readSyscallTable, type SyscallTable } from './syscall-table.ts';

/**
 * arch/x86/entry/syscalls/syscall_64.tbl up to Linux 6.18. The gap is real: 335 and 336 came in 6.11 and 6.18, so another
 * may come there.
 */
export const X86_64_SYSCALLS: SyscallTable = readSyscallTable(
  0xc000003e,
  `
  0 read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
  15 rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore
  28 madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket
  42 connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair
  54 setsockopt getsockopt clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd
  70 msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir
  84 rmdir creat link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit
  98 getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp
  112 setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid
  123 setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack
  132 utime mknod uselib personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam
  143 sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min
  148 sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl
  158 arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot
  170 sethostname setdomainname iopl ioperm create_module init_module delete_module get_kernel_syms query_module
  179 quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid readahead setxattr lsetxattr
  190 fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr
  199 fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy
  208 io_getevents io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old
  216 remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64 timer_create
  223 timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime clock_getres
  230 clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy
  240 mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key
  249 request_key keyctl ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages
  257 openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat
  268 fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee sync_file_range
  278 vmsplice move_pages utimensat epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime
  287 timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev
  297 rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64 name_to_handle_at
  304 open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev kcmp
  313 finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create kexec_file_load bpf
  322 execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free
  332 statx io_pgetevents rseq uretprobe uprobe
  424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig
  432 fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
  442 mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret
  448 process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake
  455 futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
  463 setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
`,
);
