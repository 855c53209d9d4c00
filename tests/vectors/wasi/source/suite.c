/* Behaviours of WASI preview 1, one program each, by the names that the public suite gives them. Written for this repository. */
#include "wasi.h"

#define TEST(name) void _start(void)

#ifdef RUN_path_open_flags
TEST(path_open_flags) {
  u32 fd;
  CHECK(opens(0, "missing", 0) == NOENT);
  CHECK(opens(0, "made", CREAT) == OK && opens(0, "made", CREAT | EXCL) == EXIST && opens(0, "made", CREAT) == OK);
  CHECK(opens(0, "made", DIRECTORY) == NOTDIR && opens(0, "x", CREAT | DIRECTORY) == INVAL);
  CHECK(path_create_directory(ROOT, P("d")) == OK && opens(0, "d", DIRECTORY) == OK && opens(0, "d", 0) == OK);
  CHECK(open_at(ROOT, 0, "d", DIRECTORY, READ | WRITE, 0, &fd) == ISDIR);
  CHECK(open_at(ROOT, 0, "made", 0, READ, 0, &fd) == OK);
  u32 below;
  CHECK(path_open(fd, 0, P("x"), 0, 0, 0, 0, &below) == NOTDIR);
}
#elif defined(RUN_path_open_read_write)
TEST(path_open_read_write) {
  u32 fd, n;
  u8 b[4] = "abc";
  struct iovec v = {b, 3};
  touch("f");
  CHECK(open_at(ROOT, 0, "f", 0, READ, 0, &fd) == OK && fd_write(fd, &v, 1, &n) == BADF && get(fd, b, 3) == 0);
  CHECK(open_at(ROOT, 0, "f", 0, WRITE, 0, &fd) == OK && fd_read(fd, &v, 1, &n) == BADF && put(fd, "xyz", 3) == 3);
  CHECK(open_at(ROOT, 0, "f", 0, READ | WRITE, 0, &fd) == OK && get(fd, b, 3) == 3 && same(b, "xyz", 3));
}
#elif defined(RUN_interesting_paths)
TEST(interesting_paths) {
  CHECK(path_create_directory(ROOT, P("dir")) == OK && path_create_directory(ROOT, P("dir/nested")) == OK);
  touch("dir/nested/file");
  CHECK(opens(0, "/dir/nested/file", 0) == PERM);
  CHECK(opens(0, "dir/.//nested/../../dir/nested/../nested///./file", 0) == OK);
  u32 fd;
  CHECK(path_open(ROOT, 0, "dir/nested/file\0", 16, 0, 0, 0, 0, &fd) == INVAL);
  CHECK(path_open(ROOT, 0, "\xff\xfe", 2, 0, 0, 0, 0, &fd) == ILSEQ);
  CHECK(opens(0, "dir/nested/file/", 0) == NOTDIR && opens(0, "dir/nested/file///", 0) == NOTDIR);
  CHECK(opens(0, "dir/nested/", 0) == OK && opens(0, "dir/nested///", 0) == OK && opens(0, "", 0) == NOENT);
  CHECK(opens(0, "dir/nested/../../../work/dir/nested/file", 0) == PERM && opens(0, "..", 0) == PERM);
  CHECK(path_unlink_file(ROOT, P("dir/nested/file")) == OK && path_remove_directory(ROOT, P("dir/nested")) == OK);
}
#elif defined(RUN_symlinks)
TEST(symlinks) {
  char to[16];
  u32 n, fd;
  touch("target");
  CHECK(path_symlink(P("target"), ROOT, P("link")) == OK && path_symlink(P("target"), ROOT, P("link")) == EXIST);
  CHECK(path_readlink(ROOT, P("link"), to, 16, &n) == OK && n == 6 && same(to, "target", 6));
  CHECK(path_readlink(ROOT, P("link"), to, 3, &n) == OK && n == 3 && path_readlink(ROOT, P("target"), to, 16, &n) == INVAL);
  CHECK(opens(0, "link", 0) == LOOP && opens(FOLLOW, "link", 0) == OK && opens(0, "link", DIRECTORY) != OK);
  CHECK(opens(FOLLOW, "link", DIRECTORY) == NOTDIR);
  CHECK(path_symlink(P("nowhere"), ROOT, P("dangling")) == OK && opens(0, "dangling", 0) == LOOP);
  CHECK(opens(FOLLOW, "dangling", 0) == NOENT && path_open(ROOT, FOLLOW, P("dangling"), CREAT, 0, 0, 0, &fd) == OK);
  CHECK(opens(0, "nowhere", 0) == OK);
  CHECK(path_symlink(P("loop"), ROOT, P("loop")) == OK && opens(0, "loop", 0) == LOOP && opens(FOLLOW, "loop", 0) == LOOP);
  CHECK(path_symlink(P("../outside"), ROOT, P("out")) == OK && opens(FOLLOW, "out", 0) == PERM);
  CHECK(path_symlink(P("/etc/passwd"), ROOT, P("abs")) == PERM);
  CHECK(path_symlink(P("x"), ROOT, P("new/")) == NOENT && path_create_directory(ROOT, P("dir")) == OK);
  CHECK(path_symlink(P("x"), ROOT, P("dir/")) == EXIST && path_unlink_file(ROOT, P("loop")) == OK);
}
#elif defined(RUN_symlink_filestat)
TEST(symlink_filestat) {
  struct filestat f, l, d;
  touch("file");
  CHECK(path_symlink(P("file"), ROOT, P("sym")) == OK);
  CHECK(path_filestat_get(ROOT, 0, P("file"), &f) == OK && path_filestat_get(ROOT, 0, P("sym"), &l) == OK);
  CHECK(f.type == 4 && l.type == 7 && l.size == 4 && path_filestat_get(ROOT, FOLLOW, P("sym"), &d) == OK && d.inode == f.inode);
  CHECK(path_filestat_set_times(ROOT, 0, P("sym"), 0, 77, 4) == OK);
  CHECK(path_filestat_get(ROOT, 0, P("sym"), &l) == OK && l.modified == 77);
  CHECK(path_filestat_get(ROOT, 0, P("file"), &d) == OK && d.modified == f.modified);
  CHECK(path_filestat_set_times(ROOT, FOLLOW, P("sym"), 0, 99, 4) == OK);
  CHECK(path_filestat_get(ROOT, 0, P("file"), &d) == OK && d.modified == 99);
  CHECK(path_filestat_set_times(ROOT, 0, P("file"), 0, 1, 4 | 8) == INVAL && path_filestat_set_times(ROOT, 0, P("file"), 1, 0, 1 | 2) == INVAL);
}
#elif defined(RUN_path_link)
TEST(path_link) {
  struct filestat a, b;
  touch("file");
  CHECK(path_link(ROOT, 0, P("file"), ROOT, P("link")) == OK);
  CHECK(path_filestat_get(ROOT, 0, P("file"), &a) == OK && path_filestat_get(ROOT, 0, P("link"), &b) == OK);
  CHECK(a.inode == b.inode && a.links == 2 && b.links == 2 && path_link(ROOT, 0, P("file"), ROOT, P("link")) == EXIST);
  CHECK(path_unlink_file(ROOT, P("link")) == OK && path_create_directory(ROOT, P("dir")) == OK);
  CHECK(path_link(ROOT, 0, P("dir"), ROOT, P("l")) == PERM && path_link(ROOT, 0, P("file"), ROOT, P("dir")) == EXIST);
  CHECK(path_link(ROOT, 0, P("file"), ROOT, P("link/")) == NOENT);
  CHECK(path_symlink(P("none"), ROOT, P("sym")) == OK && path_link(ROOT, 0, P("sym"), ROOT, P("l")) == OK);
  CHECK(path_link(ROOT, FOLLOW, P("sym"), ROOT, P("m")) == INVAL && path_link(ROOT, 0, P("file"), ROOT, P("sym")) == EXIST);
}
#elif defined(RUN_path_rename)
TEST(path_rename) {
  CHECK(path_create_directory(ROOT, P("source")) == OK && path_rename(ROOT, P("source"), ROOT, P("target")) == OK);
  CHECK(opens(0, "source", DIRECTORY) == NOENT && opens(0, "target", DIRECTORY) == OK);
  CHECK(path_create_directory(ROOT, P("source")) == OK && path_rename(ROOT, P("source"), ROOT, P("target")) == OK);
  touch("target/file");
  CHECK(path_create_directory(ROOT, P("source")) == OK && path_rename(ROOT, P("source"), ROOT, P("target")) == NOTEMPTY);
  CHECK(path_rename(ROOT, P("source"), ROOT, P("target/file")) == NOTDIR);
  CHECK(path_rename(ROOT, P("target"), ROOT, P("target/inner")) == INVAL);
  touch("a");
  CHECK(path_rename(ROOT, P("a"), ROOT, P("b")) == OK && opens(0, "a", 0) == NOENT && opens(0, "b", 0) == OK);
  touch("a");
  CHECK(path_rename(ROOT, P("a"), ROOT, P("b")) == OK && path_rename(ROOT, P("b"), ROOT, P("source")) == ISDIR);
  CHECK(path_rename(ROOT, P("b"), ROOT, P("c/")) == NOTDIR && path_rename(ROOT, P("b/"), ROOT, P("c")) == NOTDIR);
  CHECK(path_rename(ROOT, P("source/"), ROOT, P("moved/")) == OK && path_rename(ROOT, P("moved"), ROOT, P("source/")) == OK);
}
#elif defined(RUN_remove_and_unlink)
TEST(remove_and_unlink) {
  CHECK(path_create_directory(ROOT, P("dir")) == OK && path_create_directory(ROOT, P("dir")) == EXIST);
  CHECK(path_unlink_file(ROOT, P("dir")) == ISDIR && path_unlink_file(ROOT, P("dir/")) == ISDIR);
  touch("dir/f");
  CHECK(path_remove_directory(ROOT, P("dir")) == NOTEMPTY && path_unlink_file(ROOT, P("dir/f")) == OK);
  CHECK(path_remove_directory(ROOT, P("dir/")) == OK && path_remove_directory(ROOT, P("dir")) == NOENT);
  touch("file");
  CHECK(path_remove_directory(ROOT, P("file")) == NOTDIR && path_remove_directory(ROOT, P("file/")) == NOTDIR);
  CHECK(path_unlink_file(ROOT, P("file/")) == NOTDIR && path_unlink_file(ROOT, P("file")) == OK);
}
#elif defined(RUN_dangling_fd)
TEST(dangling_fd) {
  u32 fd = file("gone");
  u8 b[4];
  CHECK(path_unlink_file(ROOT, P("gone")) == OK && opens(0, "gone", 0) == NOENT && put(fd, "abc", 3) == 3);
  u64 at;
  CHECK(fd_seek(fd, 0, 0, &at) == OK && get(fd, b, 4) == 3 && fd_close(fd) == OK && fd_close(fd) == BADF);
  CHECK(path_create_directory(ROOT, P("d")) == OK && path_open(ROOT, 0, P("d"), DIRECTORY, 0, 0, 0, &fd) == OK);
  CHECK(path_remove_directory(ROOT, P("d")) == OK && fd_close(fd) == OK && path_create_directory(ROOT, P("d")) == OK);
}
#elif defined(RUN_fd_readdir)
static u8 buffer[256];
static u32 list(u64 cookie, u32 *whole) {
  u32 used, at = 0, n = 0;
  CHECK(fd_readdir(ROOT, buffer, 256, cookie, &used) == OK);
  while (used - at >= 24) {
    u32 name;
    memcpy(&name, buffer + at + 16, 4);
    if (used - at < 24 + name) break;
    at += 24 + name;
    n++;
  }
  *whole = used < 256;
  return n;
}
TEST(fd_readdir) {
  u32 whole;
  struct filestat s;
  u64 inode, next;
  CHECK(list(0, &whole) == 2 && whole && buffer[24] == '.' && buffer[20] == 3);
  CHECK(fd_filestat_get(ROOT, &s) == OK);
  memcpy(&inode, buffer + 8, 8);
  CHECK(inode == s.inode);
  touch("file");
  CHECK(list(0, &whole) == 3 && whole);
  memcpy(&next, buffer + 25, 8);
  CHECK(list(next, &whole) == 1 && same(buffer + 24, "file", 4) && buffer[20] == 4);
  for (u32 i = 0; i < 300; i++) {
    char name[5] = {'n', 'a' + i / 26, 'a' + i % 26, 'x', 0};
    touch(name);
  }
  u32 total = 0, n;
  u64 cookie = 0;
  do {
    n = list(cookie, &whole);
    total += n;
    u32 at = 0, name;
    for (u32 i = 0; i < n; i++) {
      memcpy(&cookie, buffer + at, 8);
      memcpy(&name, buffer + at + 16, 4);
      at += 24 + name;
    }
  } while (!whole);
  CHECK(total == 303);
}
#elif defined(RUN_renumber)
TEST(renumber) {
  struct fdstat s;
  u32 a = file("a"), b = file("b");
  CHECK(put(a, "12", 2) == 2 && fd_renumber(a, b) == OK && fd_close(a) == BADF && fd_fdstat_get(b, &s) == OK);
  u64 at;
  CHECK(fd_tell(b, &at) == OK && at == 2 && fd_renumber(b, a) == BADF && fd_renumber(99, b) == BADF);
  for (u32 fd = 0; fd < 3; fd++) {
    u32 to = file("to");
    CHECK(fd_renumber(fd, to) == OK && fd_fdstat_get(to, &s) == OK && fd_fdstat_get(fd, &s) == BADF);
  }
}
#elif defined(RUN_seek_tell)
TEST(seek_tell) {
  u32 fd = file("f");
  u64 at;
  u8 b[100] = {1};
  CHECK(fd_tell(fd, &at) == OK && at == 0 && put(fd, b, 100) == 100 && fd_tell(fd, &at) == OK && at == 100);
  CHECK(fd_seek(fd, -50, 1, &at) == OK && at == 50 && fd_seek(fd, 10, 0, &at) == OK && at == 10);
  CHECK(fd_seek(fd, 1000, 1, &at) == OK && at == 1010 && fd_seek(fd, -2000, 1, &at) == INVAL && fd_seek(fd, 0, 2, &at) == OK && at == 100);
  CHECK(fd_seek(fd, 0, 9, &at) == INVAL && fd_seek(ROOT, 0, 0, &at) == ISDIR && fd_seek(0, 0, 0, &at) == SPIPE);
  struct fdstat s;
  CHECK(fd_fdstat_get(ROOT, &s) == OK && s.type == 3 && !(s.base & SEEK) && !(s.base & FILE_SET_SIZE));
}
#elif defined(RUN_pread_pwrite)
TEST(pread_pwrite) {
  u32 fd = file("f"), n;
  u8 b[8] = {0};
  struct iovec two[2] = {{"hel", 3}, {"lo", 2}}, in[2] = {{b, 2}, {b + 2, 6}};
  u64 at;
  CHECK(fd_pwrite(fd, two, 2, 2, &n) == OK && n == 5 && size_of("f") == 7 && fd_tell(fd, &at) == OK && at == 0);
  CHECK(fd_pread(fd, in, 2, 2, &n) == OK && n == 5 && same(b, "hello", 5) && fd_pread(fd, in, 2, 7, &n) == OK && n == 0);
  CHECK(fd_pread(fd, in, 2, 0, &n) == OK && n == 7 && b[0] == 0 && b[2] == 'h' && fd_pread(ROOT, in, 1, 0, &n) == ISDIR);
}
#elif defined(RUN_truncation)
TEST(truncation) {
  u32 fd = file("f");
  struct fdstat s;
  CHECK(put(fd, "0123456789", 10) == 10 && fd_filestat_set_size(fd, 4) == OK && size_of("f") == 4);
  CHECK(fd_filestat_set_size(fd, 20) == OK && size_of("f") == 20 && opens(0, "f", TRUNC) == OK && size_of("f") == 0);
  CHECK(fd_allocate(fd, 100, 100) == OK && size_of("f") == 200 && fd_advise(fd, 10, 50, 0) == OK && fd_advise(fd, 0, 0, 9) == INVAL);
  CHECK(fd_fdstat_get(ROOT, &s) == OK && (s.base & SET_SIZE));
  CHECK(fd_fdstat_set_rights(ROOT, s.base & ~SET_SIZE, s.inheriting) == OK && opens(0, "f", TRUNC) == NOTCAPABLE);
  CHECK(fd_fdstat_set_rights(ROOT, s.base, s.inheriting) == NOTCAPABLE && fd_filestat_set_size(ROOT, 1) == ISDIR);
}
#elif defined(RUN_fd_flags)
TEST(fd_flags) {
  u32 fd;
  u64 at;
  struct fdstat s;
  CHECK(open_at(ROOT, 0, "f", CREAT, READ | WRITE | SEEK, APPEND | SYNC, &fd) == OK && fd_fdstat_get(fd, &s) == OK && s.flags == (APPEND | SYNC));
  CHECK(put(fd, "ab", 2) == 2 && fd_seek(fd, 0, 0, &at) == OK && put(fd, "cd", 2) == 2 && size_of("f") == 4);
  CHECK(fd_fdstat_set_flags(fd, 0) == OK && fd_seek(fd, 0, 0, &at) == OK && put(fd, "xy", 2) == 2 && size_of("f") == 4);
  CHECK(fd_fdstat_set_flags(fd, 1 << 9) == INVAL);
}
#elif defined(RUN_fd_rights)
TEST(fd_rights) {
  u32 fd = file("f"), n;
  struct fdstat s;
  u8 b[2];
  struct iovec v = {b, 2};
  CHECK(put(fd, "ab", 2) == 2 && fd_fdstat_get(fd, &s) == OK && fd_fdstat_set_rights(fd, s.base & ~(READ | WRITE), 0) == OK);
  CHECK(fd_read(fd, &v, 1, &n) == BADF && fd_write(fd, &v, 1, &n) == BADF && fd_fdstat_set_rights(fd, s.base, 0) == NOTCAPABLE);
}
#elif defined(RUN_fd_filestat)
TEST(fd_filestat) {
  u32 fd = file("f");
  struct filestat s, t;
  CHECK(fd_filestat_get(fd, &s) == OK && s.type == 4 && s.size == 0 && s.links == 1 && fd_filestat_set_times(fd, 0, s.modified + 5, 4) == OK);
  CHECK(fd_filestat_get(fd, &t) == OK && t.modified == s.modified + 5 && t.accessed == s.accessed && t.inode == s.inode && t.device == s.device);
  CHECK(fd_filestat_set_times(fd, 0, 0, 4 | 8) == INVAL && fd_filestat_set_times(fd, 0, 0, 3) == INVAL && fd_filestat_get(0, &s) == OK && s.type == 2);
}
#elif defined(RUN_preopens)
TEST(preopens) {
  u32 stat[2];
  char name[16];
  u32 fd;
  struct fdstat s;
  CHECK(fd_prestat_get(ROOT, stat) == OK && (u8)stat[0] == 0 && stat[1] == 4 && fd_prestat_dir_name(ROOT, name, 4) == OK && same(name, "work", 4));
  CHECK(fd_prestat_dir_name(ROOT, name, 0) == NAMETOOLONG && fd_prestat_dir_name(ROOT, name, 16) == OK && fd_prestat_get(9, stat) == BADF && fd_prestat_get(0, stat) == BADF);
  CHECK(fd_fdstat_get(ROOT, &s) == OK && path_open(ROOT, 0, P("."), 0, s.base, s.inheriting, 0, &fd) == OK && path_open(ROOT, 0, P("."), DIRECTORY, 0, 0, 0, &fd) == OK);
  CHECK(fd_prestat_get(fd, stat) == BADF && fd_close(ROOT) == OK && fd_fdstat_get(ROOT, &s) == BADF && fd_fdstat_get(fd, &s) == OK);
}
#elif defined(RUN_poll_oneoff_stdio)
struct subscription { u64 userdata; u64 kind; u32 id; u64 timeout; u64 precision; u16 flags; };
struct event { u64 userdata; u16 error; u8 kind; u64 bytes; u16 flags; };
TEST(poll_oneoff_stdio) {
  struct subscription in[3] = {{11, 0, 1, 50000000, 0, 0}, {12, 1, 0, 0, 0, 0}, {13, 2, 1, 0, 0, 0}};
  struct event out[3];
  u32 n;
  CHECK(poll_oneoff(in, out, 3, &n) == OK && n == 2 && out[0].userdata == 12 && out[0].error == 0 && out[0].kind == 1 && out[1].userdata == 13);
  u64 before, after;
  CHECK(clock_time_get(1, 0, &before) == OK && poll_oneoff(in, out, 1, &n) == OK && n == 1 && out[0].userdata == 11 && out[0].kind == 0);
  CHECK(clock_time_get(1, 0, &after) == OK && after - before >= 40000000 && poll_oneoff(in, out, 0, &n) == INVAL);
  in[1].id = 77;
  CHECK(poll_oneoff(in + 1, out, 1, &n) == OK && n == 1 && out[0].error == BADF);
}
#elif defined(RUN_clocks)
TEST(clocks) {
  u64 a, b, r;
  CHECK(clock_time_get(0, 0, &a) == OK && a > 1600000000000000000ull && clock_time_get(1, 1, &a) == OK && clock_time_get(1, 1, &b) == OK && b >= a);
  CHECK(clock_res_get(0, &r) == OK && r > 0 && clock_res_get(1, &r) == OK && r > 0 && clock_time_get(9, 0, &a) == INVAL);
}
#elif defined(RUN_random_get_big)
static u8 b[65536];
TEST(random_get_big) {
  u32 zeros = 0;
  CHECK(random_get(b, 0) == OK && random_get(b, 65536) == OK);
  for (u32 i = 0; i < 65536; i++) zeros += b[i] == 0;
  CHECK(zeros < 2000 && sched_yield() == OK);
}
#elif defined(RUN_args_and_environ)
static u8 text[256];
static u32 list[16];
TEST(args_and_environ) {
  u32 n, bytes;
  CHECK(args_sizes_get(&n, &bytes) == OK && n == 3 && args_get(list, text) == OK && same((u8 *)list[1], "one", 4) && same((u8 *)list[2], "tw o", 5));
  CHECK(environ_sizes_get(&n, &bytes) == OK && n == 2 && environ_get(list, text) == OK && same((u8 *)list[0], "A=b", 4) && same((u8 *)list[1], "C=d=e", 6));
}
#elif defined(RUN_stdio)
TEST(stdio) {
  u8 b[8];
  u32 n;
  struct iovec v = {b, 8};
  struct fdstat s;
  CHECK(get(0, b, 8) == 0 && put(1, "out\n", 4) == 4 && put(2, "err\n", 4) == 4 && fd_write(99, &v, 1, &n) == BADF && fd_write(0, &v, 1, &n) == BADF);
  CHECK(fd_fdstat_get(1, &s) == OK && s.type == 2);
}
#elif defined(RUN_sockets_absent)
TEST(sockets_absent) { CHECK(sock_shutdown(9, 3) == BADF && sock_shutdown(ROOT, 3) == NOTSOCK && sock_shutdown(file("f"), 1) == NOTSOCK); }
#elif defined(RUN_proc_exit_failure)
TEST(proc_exit_failure) { proc_exit(33); }
#elif defined(RUN_directory_operations)
TEST(directory_operations) {
  u8 b[4];
  u32 n;
  struct iovec v = {b, 4};
  u64 at;
  CHECK(fd_read(ROOT, &v, 1, &n) == ISDIR && fd_write(ROOT, &v, 1, &n) == ISDIR && fd_pwrite(ROOT, &v, 1, 0, &n) == ISDIR);
  CHECK(fd_tell(ROOT, &at) == ISDIR && fd_allocate(ROOT, 0, 1) == ISDIR);
}
#elif defined(RUN_pwrite_append)
TEST(pwrite_append) {
  u32 fd, n;
  u64 at;
  struct iovec v = {"xyz", 3};
  CHECK(open_at(ROOT, 0, "f", CREAT | TRUNC, WRITE | SEEK, APPEND, &fd) == OK && put(fd, "ab", 2) == 2);
  CHECK(fd_seek(fd, 0, 0, &at) == OK && put(fd, "cd", 2) == 2 && fd_tell(fd, &at) == OK && at == 4);
  /* Where it is told, as POSIX has it, and the place of the descriptor stays. */
  CHECK(fd_pwrite(fd, &v, 1, 0, &n) == OK && n == 3 && fd_tell(fd, &at) == OK && at == 4 && size_of("f") == 4);
}
#elif defined(RUN_root_directory)
TEST(root_directory) {
  u32 stat[2], dir, sub, a, b;
  char name[4];
  struct fdstat s, t;
  struct filestat f, g;
  CHECK(fd_prestat_get(ROOT, stat) == OK && stat[1] == 1 && fd_prestat_dir_name(ROOT, name, 1) == OK && name[0] == '/');
  CHECK(fd_fdstat_get(ROOT, &s) == OK && path_open(ROOT, 0, P("."), DIRECTORY, s.base, s.inheriting, 0, &dir) == OK && dir > ROOT);
  CHECK(fd_fdstat_get(dir, &t) == OK && t.base == s.base && t.inheriting == s.inheriting && t.flags == 0);
  /* Two names of one file, in two directories, are the same to whoever asks. */
  CHECK(path_create_directory(dir, P("sub")) == OK && path_open(dir, 0, P("sub"), DIRECTORY, READ, READ, 0, &sub) == OK);
  CHECK(path_open(dir, 0, P("file"), CREAT, READ, READ, 0, &a) == OK && path_link(dir, 0, P("file"), sub, P("link")) == OK);
  CHECK(path_open(sub, 0, P("link"), 0, READ, READ, 0, &b) == OK && fd_fdstat_get(a, &s) == OK && fd_fdstat_get(b, &t) == OK);
  CHECK(s.base == t.base && s.inheriting == t.inheriting && fd_filestat_get(a, &f) == OK && fd_filestat_get(b, &g) == OK);
  CHECK(f.inode == g.inode && f.device == g.device && f.links == 2 && g.links == 2 && f.changed == g.changed && f.accessed == g.accessed);
  CHECK(path_open(a, 0, P("x"), CREAT, 0, 0, 0, &b) == NOTDIR && path_unlink_file(sub, P("link")) == OK);
  /* Over the preopened one, which is then the other. */
  CHECK(fd_filestat_get(sub, &f) == OK && fd_renumber(sub, ROOT) == OK && fd_filestat_get(ROOT, &g) == OK && f.inode == g.inode);
  CHECK(fd_fdstat_get(sub, &s) == BADF && fd_prestat_get(ROOT, stat) == BADF && path_remove_directory(dir, P("sub")) == OK);
}
#endif
