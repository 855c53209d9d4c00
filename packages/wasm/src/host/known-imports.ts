/** The names that a guest may import, with their types: `i` is i32, `I` is i64; what comes after `>` is the result. */
export type ImportTypes = Readonly<Record<string, string>>;

export const PALYRA_MODULE = 'palyra';
export const WASI_MODULE = 'wasi_snapshot_preview1';

/** The first parameter is the handle of the call. */
export const PALYRA_IMPORTS: ImportTypes = {
  log: 'Iiii>i',
  fetch_result: 'Iii>i',
  now: 'I>I',
  random: 'Iii>i',
  emit: 'Iii>i',
  kv_get: 'Iii>i',
  kv_put: 'Iiiii>i',
  kv_delete: 'Iii>i',
  kv_list: 'Iii>i',
  http_request: 'Iii>i',
  secret_use: 'Iii>i',
};

/** There without being granted: they reach nothing. */
export const ALWAYS_LINKED: readonly string[] = ['log', 'fetch_result'];

export const WASI_IMPORTS: ImportTypes = {
  args_get: 'ii>i',
  args_sizes_get: 'ii>i',
  environ_get: 'ii>i',
  environ_sizes_get: 'ii>i',
  clock_res_get: 'ii>i',
  clock_time_get: 'iIi>i',
  fd_advise: 'iIIi>i',
  fd_allocate: 'iII>i',
  fd_close: 'i>i',
  fd_datasync: 'i>i',
  fd_fdstat_get: 'ii>i',
  fd_fdstat_set_flags: 'ii>i',
  fd_fdstat_set_rights: 'iII>i',
  fd_filestat_get: 'ii>i',
  fd_filestat_set_size: 'iI>i',
  fd_filestat_set_times: 'iIIi>i',
  fd_pread: 'iiiIi>i',
  fd_prestat_get: 'ii>i',
  fd_prestat_dir_name: 'iii>i',
  fd_pwrite: 'iiiIi>i',
  fd_read: 'iiii>i',
  fd_readdir: 'iiiIi>i',
  fd_renumber: 'ii>i',
  fd_seek: 'iIii>i',
  fd_sync: 'i>i',
  fd_tell: 'ii>i',
  fd_write: 'iiii>i',
  path_create_directory: 'iii>i',
  path_filestat_get: 'iiiii>i',
  path_filestat_set_times: 'iiiiIIi>i',
  path_link: 'iiiiiii>i',
  path_open: 'iiiiiIIii>i',
  path_readlink: 'iiiiii>i',
  path_remove_directory: 'iii>i',
  path_rename: 'iiiiii>i',
  path_symlink: 'iiiii>i',
  path_unlink_file: 'iii>i',
  poll_oneoff: 'iiii>i',
  proc_exit: 'i>',
  proc_raise: 'i>i',
  random_get: 'ii>i',
  sched_yield: '>i',
  sock_accept: 'iii>i',
  sock_recv: 'iiiiii>i',
  sock_send: 'iiiii>i',
  sock_shutdown: 'ii>i',
};

/** The grant that a WASI function needs beyond WASI itself. */
export const WASI_GRANTS: Readonly<Record<string, string>> = {
  clock_res_get: 'now',
  clock_time_get: 'now',
  random_get: 'random',
};
