/* WASI preview 1 without a C library: what each test needs, and a check that ends it with the line that failed. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define WASI(name, ...) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) u32 name(__VA_ARGS__)
WASI(args_get, u32 *, u8 *);
WASI(args_sizes_get, u32 *, u32 *);
WASI(environ_get, u32 *, u8 *);
WASI(environ_sizes_get, u32 *, u32 *);
WASI(clock_res_get, u32, u64 *);
WASI(clock_time_get, u32, u64, u64 *);
WASI(fd_advise, u32, u64, u64, u32);
WASI(fd_allocate, u32, u64, u64);
WASI(fd_close, u32);
WASI(fd_fdstat_get, u32, void *);
WASI(fd_fdstat_set_flags, u32, u32);
WASI(fd_fdstat_set_rights, u32, u64, u64);
WASI(fd_filestat_get, u32, void *);
WASI(fd_filestat_set_size, u32, u64);
WASI(fd_filestat_set_times, u32, u64, u64, u32);
WASI(fd_pread, u32, const void *, u32, u64, u32 *);
WASI(fd_prestat_get, u32, u32 *);
WASI(fd_prestat_dir_name, u32, char *, u32);
WASI(fd_pwrite, u32, const void *, u32, u64, u32 *);
WASI(fd_read, u32, const void *, u32, u32 *);
WASI(fd_readdir, u32, u8 *, u32, u64, u32 *);
WASI(fd_renumber, u32, u32);
WASI(fd_seek, u32, i64, u32, u64 *);
WASI(fd_tell, u32, u64 *);
WASI(fd_write, u32, const void *, u32, u32 *);
WASI(path_create_directory, u32, const char *, u32);
WASI(path_filestat_get, u32, u32, const char *, u32, void *);
WASI(path_filestat_set_times, u32, u32, const char *, u32, u64, u64, u32);
WASI(path_link, u32, u32, const char *, u32, u32, const char *, u32);
WASI(path_open, u32, u32, const char *, u32, u32, u64, u64, u32, u32 *);
WASI(path_readlink, u32, const char *, u32, char *, u32, u32 *);
WASI(path_remove_directory, u32, const char *, u32);
WASI(path_rename, u32, const char *, u32, u32, const char *, u32);
WASI(path_symlink, const char *, u32, u32, const char *, u32);
WASI(path_unlink_file, u32, const char *, u32);
WASI(poll_oneoff, const void *, void *, u32, u32 *);
WASI(random_get, u8 *, u32);
WASI(sched_yield, void);
WASI(sock_shutdown, u32, u32);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"), noreturn)) void proc_exit(u32);

enum { OK = 0, BADF = 8, EXIST = 20, ILSEQ = 25, INVAL = 28, ISDIR = 31, LOOP = 32, NAMETOOLONG = 37, NOENT = 44, NOTDIR = 54,
       NOTEMPTY = 55, NOTSOCK = 57, PERM = 63, SPIPE = 70, NOTCAPABLE = 76 };
enum { CREAT = 1, DIRECTORY = 2, EXCL = 4, TRUNC = 8 };
enum { FOLLOW = 1, APPEND = 1, SYNC = 16 };
#define READ ((u64)1 << 1)
#define WRITE ((u64)1 << 6)
#define SEEK ((u64)1 << 2)
#define TELL ((u64)1 << 5)
#define SET_SIZE ((u64)1 << 19)
#define FILE_SET_SIZE ((u64)1 << 22)

/* The first granted prefix. */
#define ROOT 3
/* Exits with the line that is not as it should be. */
#define CHECK(what) do { if (!(what)) proc_exit(__LINE__ & 255 ? __LINE__ & 255 : 1); } while (0)

static u32 length(const char *text) { u32 n = 0; while (text[n]) n++; return n; }
static int same(const void *a, const void *b, u32 n) {
  const u8 *x = a, *y = b;
  while (n--) if (*x++ != *y++) return 0;
  return 1;
}
void *memset(void *at, int byte, unsigned long n) { u8 *p = at; while (n--) *p++ = byte; return at; }
void *memcpy(void *to, const void *from, unsigned long n) { u8 *t = to; const u8 *f = from; while (n--) *t++ = *f++; return to; }

struct iovec { const void *at; u32 length; };
struct fdstat { u8 type; u16 flags; u64 base; u64 inheriting; };
struct filestat { u64 device, inode; u8 type; u64 links, size, accessed, modified, changed; };

#define P(path) path, length(path)
static u32 open_at(u32 dir, u32 lookup, const char *path, u32 oflags, u64 rights, u32 flags, u32 *fd) {
  return path_open(dir, lookup, P(path), oflags, rights, rights, flags, fd);
}
static u32 file(const char *path) { u32 fd; CHECK(open_at(ROOT, 0, path, CREAT, READ | WRITE | SEEK | TELL, 0, &fd) == OK); return fd; }
static void touch(const char *path) { fd_close(file(path)); }
static u32 opens(u32 lookup, const char *path, u32 oflags) {
  u32 fd, error = path_open(ROOT, lookup, P(path), oflags, 0, 0, 0, &fd);
  if (error == OK) fd_close(fd);
  return error;
}
static u32 put(u32 fd, const void *at, u32 n) { struct iovec v = {at, n}; u32 done = 0; CHECK(fd_write(fd, &v, 1, &done) == OK); return done; }
static u32 get(u32 fd, void *at, u32 n) { struct iovec v = {at, n}; u32 done = 0; CHECK(fd_read(fd, &v, 1, &done) == OK); return done; }
static u64 size_of(const char *path) { struct filestat s; CHECK(path_filestat_get(ROOT, 0, P(path), &s) == OK); return s.size; }
