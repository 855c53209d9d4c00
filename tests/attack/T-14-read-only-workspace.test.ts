/**
 * T-14: what may only read its workspace writes it, by every way to change a file, by other paths to the same one, or by
 * mounting it anew. Run with the one control and without it: bubblewrap's read-only bind, and Landlock's rule in Tier B.
 */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { changed, planBox, runBox } from './planned-box.ts';
import { describeBothWays, type Place, python, tierB, tierC } from './sandboxed.ts';

/** Prints the names of what could be done. Each works on files of its own. */
const CHANGE_EVERYTHING = `
import ctypes, mmap, os, sys
top = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, act):
  try:
    if act() != -1: print(name)
  except (OSError, ValueError): pass
at = lambda name: os.path.join(top, name)
def write(path, flags=os.O_WRONLY): os.write(os.open(path, flags), b'mine')
def through_mapping():
  held = os.open(at('mapped'), os.O_RDWR)
  mmap.mmap(held, 4)[0:4] = b'mine'
def through_reading():
  held = os.open(at('reopened'), os.O_RDONLY)
  write('/proc/self/fd/%d' % held)
attempt('create', lambda: write(at('made'), os.O_WRONLY | os.O_CREAT))
attempt('write', lambda: write(at('written')))
attempt('append', lambda: write(at('appended'), os.O_WRONLY | os.O_APPEND))
attempt('truncate', lambda: os.truncate(at('truncated'), 0))
attempt('map', through_mapping)
attempt('reopen', through_reading)
attempt('by root', lambda: write('/proc/self/root' + at('by-root')))
attempt('by cwd', lambda: os.chdir(top) or write('/proc/self/cwd/by-cwd'))
attempt('rename', lambda: os.rename(at('renamed'), at('other')))
attempt('link', lambda: os.link(at('linked'), at('second')))
attempt('symlink', lambda: os.symlink('/etc', at('led')))
attempt('mkdir', lambda: os.mkdir(at('folder')))
attempt('mkfifo', lambda: os.mkfifo(at('fifo')))
attempt('unlink', lambda: os.unlink(at('removed')))
attempt('mode', lambda: os.chmod(at('opened'), 0o777))
attempt('time', lambda: os.utime(at('aged'), (1, 1)))
attempt('remount', lambda: libc.mount(None, top.encode(), None, 0x1020, None) or write(at('remounted')))
`;

const FILES =
  'written appended truncated mapped reopened by-root by-cwd renamed linked removed opened aged remounted'.split(' ');
const WITH_CONTENTS = ['create', 'write', 'append', 'truncate', 'map', 'reopen', 'by root', 'by cwd'];
const WITH_NAMES = ['rename', 'link', 'symlink', 'mkdir', 'mkfifo', 'unlink'];
/** Of the file itself, which Landlock does not look at; root's workspace is mounted, and holds them, too. */
const WITH_FACTS = ['mode', 'time'];
const ALL = [...WITH_CONTENTS, ...WITH_NAMES, ...WITH_FACTS];

function fill({ workspace }: Place): string {
  const top = join(workspace, 'tree');
  rmSync(top, { recursive: true, force: true });
  const { uid, gid } = statSync(workspace);
  mkdirSync(top);
  for (const name of FILES) writeFileSync(join(top, name), 'kept');
  for (const path of [top, ...FILES.map((name) => join(top, name))]) chownSync(path, uid, gid);
  for (const name of FILES) chmodSync(join(top, name), 0o644);
  return top;
}

const seen = (top: string) =>
  readdirSync(top).map((name) => {
    const { mode, mtimeMs } = statSync(join(top, name));
    return [name, readFileSync(join(top, name), 'utf8'), mode, mtimeMs];
  });

const linesOf = ({ stdout }: { readonly stdout: string }) => stdout.split('\n').filter((line) => line !== '');

describeBothWays((place) => {
  let top = '';
  let before: ReturnType<typeof seen> = [];
  beforeEach(() => {
    top = fill(place());
    before = seen(top);
    return () => rmSync(top, { recursive: true, force: true });
  });

  test('--ro-bind: nothing is changed in the box, and everything without it', async () => {
    const { workspace } = place();
    const box = await planBox(place(), { workspace: { root: workspace, access: 'read-only' } });
    const attack = ['/usr/bin/python3', '-c', CHANGE_EVERYTHING, top];
    expect(linesOf(await runBox(place(), box, attack))).toEqual([]);
    expect(seen(top)).toEqual(before);
    const bind = ['--ro-bind', workspace, workspace] as const;
    const writable = changed(box, { instead: [[bind, ['--bind', workspace, workspace]]] });
    expect(linesOf(await runBox(place(), writable, attack))).toEqual(ALL);
  });

  test.each([
    ['C', tierC],
    ['B', tierB],
  ] as const)('a read-only workspace stays as it is in Tier %s, and a writable one does not', async (name, tier) => {
    const { workspace, daemon, uid } = place();
    const left = name === 'B' && uid !== 0 ? WITH_FACTS : [];
    const readOnly = tier(place(), { workspace: { root: workspace, access: 'read-only' } });
    const attack = python(CHANGE_EVERYTHING, top);
    expect(linesOf(await daemon.run(attack, readOnly))).toEqual(left);
    const contents = (files: typeof before) => files.map(([file, text]) => [file, text]);
    expect(contents(seen(top))).toEqual(contents(before));
    expect(linesOf(await daemon.run(attack, tier(place())))).toEqual(ALL);
  });
});
