// T-15: persistence. The daemon is killed while a command runs, so that nobody looks at what it left. The next one does.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from './protected-workspace.ts';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, type Place, sh, tierB, tierC, until } from './sandboxed.ts';

const PLANT = `echo evil > AGENTS.md; git config core.fsmonitor ./evil; echo evil > .husky/pre-commit
git init -q new; cp .git/HEAD new/.git/hooks/pre-push; rm -f packages/one/AGENTS.md; echo ready; sleep 60`;
const STATE = `cat CLAUDE.md .husky/pre-commit packages/one/AGENTS.md; ls AGENTS.md 2>/dev/null || true
ls new/.git/hooks | grep -v sample || true; git config core.fsmonitor || true`;

const notes = (place: Place) => {
  const directory = join(place.palyraHome, 'kept/runs');
  return existsSync(directory) ? readdirSync(directory) : [];
};

describeBothWays((place) => {
  test.each(['B', 'C'] as const)('Tier %s: what a command left is put back at the next start', async (tier) => {
    const owner = tier === 'B' && place().uid === 0 && IS_ROOT ? 71_234 : place().uid;
    const { workspace, operator } = makeWorkspace(place(), undefined, owner);
    operator('mkdir .husky; echo mine > .husky/pre-commit');
    const killed = await startDaemon(place());
    const profile = tier === 'B' ? tierB({ workspace }) : tierC({ workspace });
    const started = killed.start(sh(PLANT), profile);
    await until('it has planted', () => started.text().includes('ready'));
    await killed.kill();
    // Or this is no attack.
    expect(operator('cat AGENTS.md .husky/pre-commit')).toBe('evil\nevil\n');
    const next = await startDaemon(place());
    const after = operator(STATE);
    await next.close();
    expect(after).toBe('the operator says\nmine\nof one\n');
    expect(notes(place())).toEqual([]);
  });

  test('what the operator wrote when it had to be over is left', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const killed = await startDaemon(place());
    const started = killed.start(sh(`echo ready; sleep 60`), tierC({ workspace }));
    await until('it runs', () => started.text().includes('ready'));
    await killed.kill();
    operator('echo new > CLAUDE.md');
    const [note = ''] = notes(place()).filter((name) => name.endsWith('.state'));
    const state = join(place().palyraHome, 'kept/runs', note);
    // As if it had been hours ago.
    const said = JSON.parse(readFileSync(state, 'utf8'));
    writeFileSync(state, JSON.stringify({ ...said, untilMs: said.atMs }));
    await (await startDaemon(place())).close();
    expect(operator('cat CLAUDE.md')).toBe('new\n');
  });

  test('one that ends in order owes nothing to the next', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const first = await startDaemon(place());
    await first.run(sh('true'), tierC({ workspace }));
    await first.kill();
    operator('echo new > CLAUDE.md; echo mine > AGENTS.md');
    await (await startDaemon(place())).close();
    expect(operator('cat CLAUDE.md AGENTS.md')).toBe('new\nmine\n');
  });
});
