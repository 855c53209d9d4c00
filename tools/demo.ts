import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { showBox } from './demo/box.ts';
import { showConfigMistake } from './demo/config-mistake.ts';
import { showCrash } from './demo/crash.ts';
import { showGrantRace } from './demo/grant-race.ts';
import { showHonestPrompt } from './demo/honest-prompt.ts';
import { showPolicy } from './demo/policy-question.ts';
import { showReceipt } from './demo/receipt.ts';
import { showSession } from './demo/session.ts';
import type { Stage } from './demo/stage.ts';
import { showWasm } from './demo/wasm.ts';

/** `npm run demo`: what there is today, on a throw-away home. Each scene checks what it shows and fails when it is not so. */
const scenes: readonly (readonly [title: string, show: (stage: Stage) => void | Promise<void>])[] = [
  ['An agent’s session: allowed, asked, denied, boxed in, and on record', showSession],
  ['The box is the permission: Cedar decides, and says why', showPolicy],
  ['A command in a box that is really there', showBox],
  ['A WebAssembly call under fuel, in a process that is itself in the box', showWasm],
  ['What an agent writes is shown as it is', showHonestPrompt],
  ['A mistake in palyra.toml is found, with the place and the fix', showConfigMistake],
  ['One grant, fifty calls racing for it, used once', showGrantRace],
  ['What was acknowledged survives kill -9', showCrash],
  ['A receipt that a stranger can check, and a record that tells when it was touched', showReceipt],
];

const home = await mkdtemp(join(tmpdir(), 'palyra-demo-'));
process.stdout.write(`Palyra decides, approves, executes and attests every tool call of an agent.\n`);
process.stdout.write(`Here is what it does, in ${home} (removed at the end).\n`);
try {
  for (const [index, [title, show]] of scenes.entries()) {
    process.stdout.write(`\n${styleText('bold', `${index + 1}. ${title}`)}\n`);
    await show({ home, say: (line) => process.stdout.write(`   ${line}\n`) });
  }
  process.stdout.write(
    `\n${styleText('green', `All ${scenes.length} held.`)} Next: npx palyra --help, or npm test for the whole proof.\n`,
  );
} finally {
  await rm(home, { recursive: true });
}
