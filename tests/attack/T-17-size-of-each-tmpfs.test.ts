/**
 * T-17: a tool fills the machine's memory with files. The launcher gives no tmpfs more than a mebibyte that was not planned with
 * a size, and cgroups count it: here none of them is there, and only the box's own options are.
 */
import { BOX_USER } from '@palyra/sandbox';
import { beforeAll, expect, test } from 'vitest';
import { changed, type PlannedBox, planBox, runBox } from './planned-box.ts';
import { describeBothWays } from './sandboxed.ts';

const MIB = 1024 * 1024;
const ROOM = 8 * MIB;
const PLACES = ['/tmp', '/dev/shm', BOX_USER.home];

/** Prints how much could be written to each, in whole mebibytes. */
const FILL = `
import os, sys
for at in sys.argv[1:]:
  file, done = os.open(at + '/big', os.O_CREAT | os.O_WRONLY), 0
  try:
    while done < ${2 * ROOM}: done += os.write(file, bytes(${MIB}))
  except OSError: pass
  print(at, done // ${MIB})
`;

describeBothWays((place) => {
  let box: PlannedBox;
  beforeAll(async () => {
    box = await planBox(place(), { limits: { tmpfsBytes: ROOM } });
  });

  const fill = async (made: PlannedBox) => {
    const { stdout, stderr } = await runBox(place(), made, ['/usr/bin/python3', '-c', FILL, ...PLACES]);
    return `${stdout}${stderr}`.trim().split('\n');
  };

  test('--size: what was planned for a place is what fits', async () => {
    expect(await fill(box)).toEqual(PLACES.map((at) => `${at} 8`));
  });

  test.each(PLACES)('without it there is as much room in %s as anybody takes', async (open) => {
    const unsized = changed(box, {
      instead: [
        [
          ['--size', String(ROOM), '--tmpfs', open],
          ['--tmpfs', open],
        ],
      ],
    });
    expect(await fill(unsized)).toEqual(PLACES.map((at) => `${at} ${at === open ? 16 : 8}`));
  });
});
