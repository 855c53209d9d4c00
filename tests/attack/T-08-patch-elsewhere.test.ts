/**
 * T-08: the lines of a patch say where a file changes. With `max_offset` they are looked for elsewhere too, and whoever approves
 * what is shown for the first line approves a change of the last.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

let place: GatewayToolsPlace;
beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(() => place.close());

const WORKFLOW = '.github/workflows/ci.yml';
const PATCH = `--- a/${WORKFLOW}\n+++ b/${WORKFLOW}\n@@ -2 +2 @@ lint:\n-  if: false\n+  if: true\n`;

test('that its hunks may be done elsewhere is shown before the patch', async () => {
  place.put(WORKFLOW, `lint:\n  run: lint\n${'# \n'.repeat(40)}deploy:\n  if: false\n`);
  const plan = await place.plan('palyra.fs.apply_patch', { patch: PATCH, max_offset: 100 });
  if (plan.kind === 'refused') throw new Error(plan.message);
  const said = 'Its hunks may be done up to 100 lines away from where they say (max_offset).\n';
  expect(plan.shown).toEqual({ kind: 'diff', paths: [WORKFLOW], diff: `${said}${PATCH}` });
});

test.each([{}, { max_offset: 0 }])('and without it they are done there or not at all: %o', async (options) => {
  place.put(WORKFLOW, `lint:\n  run: lint\ndeploy:\n  if: false\n`);
  const plan = await place.plan('palyra.fs.apply_patch', { patch: PATCH, ...options });
  expect(plan).toMatchObject({ kind: 'refused', code: 'file.patch_mismatch' });
  place.put(WORKFLOW, `lint:\n  if: false\n`);
  const fits = await place.plan('palyra.fs.apply_patch', { patch: PATCH, ...options });
  expect(fits).toMatchObject({ kind: 'planned', shown: { diff: PATCH } });
});
