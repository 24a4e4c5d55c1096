/**
 * System calls that every container may make, by what they are for. Variants for 32-bit programs stand beside their
 * 64-bit ones: an amd64 kernel runs both. Names are those of libseccomp.
 */
const groups = {
  files:
    'open openat openat2 creat close close_range dup dup2 dup3 fcntl fcntl64 ioctl flock ' +
    'read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek readahead ' +
    'fsync fdatasync sync syncfs sync_file_range truncate truncate64 ftruncate ftruncate64 fallocate ' +
    'fadvise64 fadvise64_64 copy_file_range sendfile sendfile64 splice tee vmsplice cachestat name_to_handle_at',
  names:
    'access faccessat faccessat2 stat stat64 lstat lstat64 fstat fstat64 fstatat64 newfstatat statx ' +
    'statfs statfs64 fstatfs fstatfs64 statmount listmount getcwd chdir fchdir getdents getdents64 ' +
    'mkdir mkdirat mknod mknodat rmdir link linkat symlink symlinkat readlink readlinkat ' +
    'rename renameat renameat2 unlink unlinkat umask',
  attributes:
    'chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 fchownat lchown lchown32 ' +
    'utime utimes utimensat utimensat_time64 futimesat ' +
    'getxattr getxattrat lgetxattr fgetxattr setxattr setxattrat lsetxattr fsetxattr ' +
    'listxattr listxattrat llistxattr flistxattr removexattr removexattrat lremovexattr fremovexattr',
  watching: 'inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_mark',
  waiting:
    'poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64 ' +
    'epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 ' +
    'eventfd eventfd2 signalfd signalfd4 pipe pipe2',
  asynchronousIo:
    'io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 ioprio_get ioprio_set',
  memory:
    'brk mmap mmap2 munmap mremap mprotect madvise mincore msync mlock mlock2 mlockall munlock munlockall mseal ' +
    'remap_file_pages memfd_create memfd_secret map_shadow_stack membarrier pkey_alloc pkey_free pkey_mprotect ' +
    'process_mrelease',
  processes:
    'execve execveat fork vfork exit exit_group wait4 waitid waitpid kill tkill tgkill pause prctl restart_syscall ' +
    'getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address pidfd_open pidfd_send_signal',
  signals:
    'rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn rt_sigsuspend ' +
    'rt_sigtimedwait rt_sigtimedwait_time64 sigaltstack sigprocmask sigreturn alarm',
  threads:
    'futex futex_time64 futex_wait futex_wake futex_waitv futex_requeue get_robust_list set_robust_list rseq ' +
    'get_thread_area set_thread_area uretprobe getcpu',
  scheduling:
    'sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam ' +
    'sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min ' +
    'sched_rr_get_interval sched_rr_get_interval_time64 getpriority setpriority ' +
    'getrlimit ugetrlimit setrlimit prlimit64 getrusage times',
  identity:
    'getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32 ' +
    'getgroups getgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 ' +
    'setresuid setresuid32 setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32 setgroups setgroups32 ' +
    'capget capset',
  time:
    'time gettimeofday clock_gettime clock_gettime64 clock_getres clock_getres_time64 ' +
    'clock_nanosleep clock_nanosleep_time64 nanosleep clock_adjtime clock_adjtime64 adjtimex getitimer setitimer ' +
    'timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 ' +
    'timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64',
  // socket(2) itself has rules of its own, by address family.
  sockets:
    'socketpair socketcall bind listen accept accept4 connect shutdown getsockname getpeername getsockopt setsockopt ' +
    'send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg recvmmsg_time64',
  ipc:
    'ipc shmget shmat shmctl shmdt semget semop semctl semtimedop semtimedop_time64 msgget msgsnd msgrcv msgctl ' +
    'mq_open mq_unlink mq_notify mq_getsetattr mq_timedreceive mq_timedreceive_time64 ' +
    'mq_timedsend mq_timedsend_time64',
  system: 'uname sysinfo getrandom',
  // A process may always lock itself in further.
  selfRestriction: 'seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self',
};

export const ORDINARY_CALLS: readonly string[] = Object.values(groups).flatMap((names) => names.split(' '));
