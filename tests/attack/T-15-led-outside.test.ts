// T-15: persistence. A link in the workspace leads git out of it: to a work tree in which it writes files of the tool's, or to
// a repository that nobody looked into.
import { describe, expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, sh, tierC } from './sandboxed.ts';

const INIT =
  'git init -q -b main .; git config user.name a; git config user.email b; git commit -q --allow-empty -m one';
/** A file in the repository that was never one in the workspace. */
const COMMIT = `file=$(echo evil | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$file,.bashrc
git commit -qm two`;

describeBothWays((place) => {
  describe('a work tree', () => {
    test.each([
      ['is a link', [(home: string) => `${COMMIT}; ln -s ${home} l; git config core.worktree ../l`]],
      [
        'is behind a link',
        [(home: string) => `${COMMIT}; ln -s ${home}/.. l; git config core.worktree ../l/$(basename ${home})`],
      ],
      [
        'becomes a link',
        [() => `${COMMIT}; mkdir l; git config core.worktree ../l`, (home: string) => `rmdir l; ln -s ${home} l`],
      ],
      [
        'comes to be behind a link',
        [
          () => `${COMMIT}; mkdir -p l/in; git config core.worktree ../l/in`,
          (home: string) => `rm -r l; ln -s ${home} l`,
        ],
      ],
      ['comes to be there', [() => `${COMMIT}; git config core.worktree ../l`, (home: string) => `ln -s ${home} l`]],
    ] as const)('that %s outside is none', async (_, attacks) => {
      const { workspace, operator } = makeWorkspace(place(), INIT);
      const home = makeWorkspace(place(), 'mkdir in');
      const changes: string[] = [];
      for (const attack of attacks) {
        const ended = await place().daemon.run(sh(attack(home.workspace)), tierC({ workspace }));
        changes.push(...changesOf(ended, workspace));
      }
      expect(changes).toHaveLength(1);
      operator('git reset -q --hard || true');
      expect(home.operator('find . -type f')).toBe('');
    });

    test('of a submodule may come and go', async () => {
      const { workspace, operator } = makeWorkspace(
        place(),
        `git init -q -b main one; cd one; git config user.name a; git config user.email b; git commit -q --allow-empty -m one; cd ..
        ${INIT}; git -c protocol.file.allow=always submodule --quiet add ./one sub; git commit -qm sub`,
      );
      const run = async (script: string) =>
        changesOf(await place().daemon.run(sh(script), tierC({ workspace })), workspace);
      expect(await run('git submodule deinit -qf sub; git submodule --quiet update --init sub; git rm -q sub')).toEqual(
        [],
      );
      expect(operator('ls')).toBe('one\n');
    });
  });

  test('a pointer is followed as the kernel follows it', async () => {
    const { workspace, operator } = makeWorkspace(place(), INIT);
    const other = makeWorkspace(
      place(),
      'mkdir deep; git init -q --bare evil; git -C evil config core.fsmonitor ./evil',
    );
    const script = `git init -q --bare sub/evil; ln -s ${other.workspace}/deep sub/l; echo 'gitdir: l/../evil' > sub/.git`;
    const ended = await place().daemon.run(sh(script), tierC({ workspace }));
    expect(changesOf(ended, workspace)).toEqual(['created sub/.git', 'created sub/l']);
    expect(operator('git -C sub config core.fsmonitor || true')).toBe('');
  });

  test.each([
    ['with two line ends', "repository='evil\\r'; pointer='evil\\r\\n'; link=evil"],
    ['with a byte that is no text', "repository='x\\357\\277\\275'; pointer='x\\377\\n'; link='x\\377'"],
  ])('a pointer %s is read as git reads it', async (_, names) => {
    const { workspace, operator } = makeWorkspace(place(), INIT);
    const other = makeWorkspace(place(), 'git init -q --bare evil; git -C evil config core.fsmonitor ./evil');
    const script = `${names}; git init -q --bare "sub/$(printf "$repository")"
    ln -s ${other.workspace}/evil "sub/$(printf "$link")"; printf "gitdir: $pointer" > sub/.git`;
    const ended = await place().daemon.run(sh(script), tierC({ workspace }));
    expect(changesOf(ended, workspace)).toContain('created sub/.git');
    expect(operator('git -C sub config core.fsmonitor || true')).toBe('');
  });
});
