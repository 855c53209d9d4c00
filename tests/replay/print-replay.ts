// `npm run -s replay`: the recorded session, first as it is and then with the attacks, in two tables.
import { playSession } from './play-session.ts';
import { readAttacks } from './recorded-session.ts';
import { openSessionPlace } from './session-place.ts';
import { renderReplay } from './session-report.ts';

for (const attacks of [[], readAttacks()]) {
  await using place = await openSessionPlace();
  process.stdout.write(`${renderReplay(await playSession(place, attacks))}\n`);
}
