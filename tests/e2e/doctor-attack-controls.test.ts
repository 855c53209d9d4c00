// Rows of `palyra doctor --attack` whose control no palyrad can be told to do without: each against the real thing, with the control
// and without it.
import { chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '@palyra/client';
import { findAttacker, type SandboxProfile } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tryJournalEdit, tryPersistence } from '../../apps/cli/src/attack/answered-attacks.ts';
import { judgeAttempt } from '../../apps/cli/src/attack/attack-row.ts';
import { ATTACKER } from '../../apps/cli/src/attack/make-attempt.ts';
import { PROGRAMMED_ATTACKS } from '../../apps/cli/src/attack/programmed-attacks.ts';
import { changed, type PlannedBox, planBox, runBox } from '../attack/planned-box.ts';
import { describeBothWays, IS_ROOT, type Place, tierC } from '../attack/sandboxed.ts';
import { type AttackedHome, attack, makeTemplate, rewrite, type Template } from '../attack/tampered-home.ts';

describe('persistence', () => {
  describeBothWays((place) => {
    /** As palyrad runs a command, and nothing of palyrad before it. */
    const runWith = (profile: SandboxProfile) =>
      ({
        async call(_tool: string, { argv }: { readonly argv: readonly [string, ...string[]] }) {
          const { kind, detail, stdout } = await place().daemon.run({ argv }, profile);
          return { outcome: { kind, exit_code: Number(detail), stdout } };
        },
      }) as unknown as Pick<Run, 'call'>;

    test('protected paths: the hook is gone, and where the operator lifted the protection of that path it stays', async () => {
      const { workspace, uid } = place();
      bringAttacker(place());
      for (const name of ['', 'hooks', 'objects', 'refs']) {
        mkdirSync(join(workspace, '.git', name));
        if (IS_ROOT) chownSync(join(workspace, '.git', name), uid, uid);
      }
      expect(await tryPersistence(runWith(tierC(place())), workspace)).toMatchObject({
        id: 'persistence',
        status: 'stopped',
        observed: 'No hook is there.',
      });
      const lifted = tierC(place(), { protection: { lifted: [join(workspace, '.git/hooks')] } });
      expect(await tryPersistence(runWith(lifted), workspace)).toMatchObject({
        id: 'persistence',
        status: 'open',
        observed: 'The hook is there.',
      });
    });
  });
});

function bringAttacker({ workspace }: Place): void {
  copyFileSync(findAttacker() ?? '', join(workspace, ATTACKER));
}

describe('terminal', () => {
  /** Has a terminal, and runs the box in its foreground. */
  const SHELL = `
import fcntl, os, pty, sys, termios
master, slave = pty.openpty()
if os.fork() == 0:
  os.setsid()
  fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
  os.closerange(master, slave + 1)
  os.execvp(sys.argv[1], sys.argv[1:])
os.wait()
`;
  describeBothWays((place) => {
    const plan = PROGRAMMED_ATTACKS.find(({ id }) => id === 'terminal');
    if (plan === undefined) throw new Error('There is no such row.');
    const targets = { outsideFile: '', userHome: '', palyraHome: '', port: 0, hostPid: 0, processes: 0 };
    const row = async (box: PlannedBox) => {
      const argv = [join(place().workspace, ATTACKER), ...plan.words(targets)];
      const { stdout, stderr } = await runBox(place(), box, argv, { through: ['/usr/bin/python3', '-c', SHELL] });
      return judgeAttempt(plan, { stdout, how: stderr });
    };

    test('session of its own: there is no terminal, and without --new-session there is', async () => {
      bringAttacker(place());
      const box = await planBox(place());
      expect(await row(box)).toMatchObject({
        status: 'stopped',
        observed: 'It did not come through: No such device or address',
      });
      const without = changed(box, { without: [['--new-session']] });
      expect(await row(without)).toMatchObject({ status: 'open', observed: 'It came through.' });
    });
  });
});

describe('journal', () => {
  let template: Template;
  beforeAll(async () => {
    template = await makeTemplate();
  });
  afterAll(() => template[Symbol.asyncDispose]());

  const databaseOf = ({ place: { directory } }: AttackedHome) => join(directory, 'palyra.db');

  /**
   * Whoever changed the word has the home's keys as well: how the run ended stays changed, with chain, tree and signatures made anew
   * over it. What calls came to is attested too, and is put back.
   */
  function signedAnew(home: AttackedHome, verify: () => Promise<string>): () => Promise<string> {
    let isEdited = false;
    return async () => {
      if (isEdited) {
        home.tamper((database) => {
          const putBack = 'replace(%, \'"outcome":"cancelled"\', \'"outcome":"completed"\')';
          database.exec(`update journal_entries set data = ${putBack.replace('%', 'data')} where kind = 'outcome'`);
          database.exec(`update journal_bodies set body = cast(${putBack.replace('%', 'body')} as blob)`);
          database.exec("update journal_entries set outcome = 'cancelled' where kind = 'run.ended'");
          rewrite(database, { checkpoints: home.keys.of('checkpoint'), attestations: home.keys.of('attestation') });
        });
      }
      isEdited = true;
      return verify();
    };
  }

  test('hash chain and signatures: an edit is found, and one that the home’s own keys signed is not', async () => {
    await using home = await attack(template);
    await home.backUp();
    const verify = async () => (await home.verify()).kind;
    expect(await tryJournalEdit(databaseOf(home), signedAnew(home, verify))).toMatchObject({
      id: 'journal',
      status: 'open',
      observed: 'sound before, sound afterwards',
    });
    await using other = await attack(template);
    await other.backUp();
    const alone = async () => (await other.verify()).kind;
    expect(await tryJournalEdit(databaseOf(other), alone)).toMatchObject({ status: 'stopped' });
  });

  test('a remembered checkpoint: that one is found as well', async () => {
    await using home = await attack(template);
    await home.backUp();
    const known = await home.checkpoint();
    const verify = async () => (await home.verify({ checkpoints: [known] })).kind;
    expect(await tryJournalEdit(databaseOf(home), signedAnew(home, verify))).toMatchObject({
      status: 'stopped',
      observed: 'sound before, broken afterwards',
    });
  });

  test('nothing to change is nothing stopped', async () => {
    await using home = await attack(template);
    const nowhere = join(home.place.directory, 'nothing');
    expect(await tryJournalEdit(nowhere, async () => (await home.verify()).kind)).toMatchObject({
      status: 'open',
      observed: 'sound before, nothing to change afterwards',
    });
  });
});
