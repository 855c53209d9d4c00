// `npm run -s replay`: the recorded session, first as it is and then with the attacks, in two tables. It fails where one of them
// falls short.
import { shortfallsOf } from './judge-replay.ts';
import { playSession } from './play-session.ts';
import { readAttacks } from './recorded-session.ts';
import { openSessionPlace } from './session-place.ts';
import { renderReplay } from './session-report.ts';

for (const attacks of [[], readAttacks()]) {
  await using place = await openSessionPlace();
  const session = await playSession(place, attacks);
  process.stdout.write(`${renderReplay(session)}\n`);
  const shortfalls = shortfallsOf(session, attacks.length);
  for (const line of shortfalls) process.stderr.write(`SHORT ${line}\n`);
  if (shortfalls.length > 0) process.exitCode = 1;
}
