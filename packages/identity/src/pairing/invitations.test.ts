import { reveal, secureRandomBytes } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createInvitationBook, type InvitationTerms, MAX_TRIES } from './invitations.ts';
import { PairingError } from './pairing-error.ts';

const TERMS: InvitationTerms = { kind: 'agent', name: 'runner' };

function open(randomBytes = secureRandomBytes) {
  const clock = createFakeClock();
  return { clock, book: createInvitationBook({ clock, randomBytes }) };
}

function codeOf(act: () => unknown): string {
  try {
    act();
    return 'fine';
  } catch (thrown) {
    return thrown instanceof PairingError ? thrown.code : String(thrown);
  }
}

test('an invitation has eight digits, 128 bits, ten minutes and five tries', () => {
  const { book, clock } = open();
  const { pin, code, ended: _ended, ...shown } = book.invite(TERMS);
  expect(reveal(pin)).toMatch(/^\d{8}$/);
  expect(Buffer.from(reveal(code), 'base64url').length).toBe(16);
  expect(shown).toEqual({ ...TERMS, id: shown.id, expiresAt: clock.now() + 600_000, triesLeft: 5 });
  expect(book.list()).toEqual([shown]);
});

test('PINs are uniform: the values that would favour some are drawn again', () => {
  const drawn = ['ffffffff', 'fa56ea00', 'fa56e9ff'].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));
  const { book } = open((length) => (length === 4 ? (drawn.shift() ?? new Uint8Array(4)) : secureRandomBytes(length)));
  expect(reveal(book.invite(TERMS).pin)).toBe('99999999');
  expect(reveal(book.invite({ ...TERMS, name: 'second' }).pin)).toBe('00000000');
});

test('five failed tries burn it; while the fifth is under way it is not burnt yet, and nobody else may try', async () => {
  const { book } = open();
  const { id, ended } = book.invite(TERMS);
  const tries = Array.from({ length: MAX_TRIES }, () => book.startTry(id, 'pin'));
  expect(tries.map(({ triesLeft }) => triesLeft)).toEqual([4, 3, 2, 1, 0]);
  expect(codeOf(() => book.startTry(id, 'pin'))).toBe('pairing.burnt');
  for (const attempt of tries.slice(0, 4)) attempt.failed();
  expect(book.list().length).toBe(1);
  tries[4]?.failed();
  expect([await ended, book.list()]).toEqual([{ kind: 'burnt' }, []]);
});

test('the fifth try may be the right one', async () => {
  const { book } = open();
  const { id, ended } = book.invite(TERMS);
  for (let index = 0; index < 4; index += 1) book.startTry(id, 'pin').failed();
  const end = { kind: 'paired', device: 'D', acknowledged: true } as const;
  book.startTry(id, 'code').claim().end(end);
  expect([await ended, codeOf(() => book.find(id))]).toEqual([end, 'pairing.used']);
});

test('a claimed invitation is neither expired, cancelled nor claimed again', async () => {
  const { book, clock } = open();
  const { id, ended } = book.invite(TERMS);
  const [first, second] = [book.startTry(id, 'pin'), book.startTry(id, 'pin')];
  const claim = first.claim();
  expect([codeOf(() => second.claim()), book.cancel(id), codeOf(() => book.find(undefined))]).toEqual([
    'pairing.used',
    false,
    'pairing.used',
  ]);
  await clock.advance(600_000);
  const error = new PairingError('pairing.refused', 'No.');
  claim.end({ kind: 'failed', error });
  expect(await ended).toEqual({ kind: 'failed', error });
});

test('it ends by itself after ten minutes, also when nobody comes', async () => {
  const { book, clock } = open();
  const { id, ended } = book.invite(TERMS);
  const attempt = book.startTry(id, 'pin');
  await clock.advance(600_000);
  expect([await ended, codeOf(() => attempt.claim()), codeOf(() => book.find(id))]).toEqual([
    { kind: 'expired' },
    'pairing.expired',
    'pairing.expired',
  ]);
});

test('whoever names none gets the only one, and is told when there are several or none', () => {
  const { book } = open();
  expect(codeOf(() => book.find(undefined))).toBe('pairing.no_invitation');
  const first = book.invite(TERMS);
  expect(book.find(undefined).id).toBe(first.id);
  const second = book.invite({ ...TERMS, name: 'second' });
  expect([codeOf(() => book.find(undefined)), book.find(second.id).name]).toEqual([
    'pairing.several_invitations',
    'second',
  ]);
  expect(codeOf(() => book.find('01ARZ3NDEKTSV4RRFFQ69G5FAV'))).toBe('pairing.no_invitation');
});

test('eight may be open at once, and ended ones are remembered but not for ever', () => {
  const { book } = open();
  const ids = Array.from({ length: 8 }, (_, index) => book.invite({ ...TERMS, name: `device ${index}` }).id);
  expect(codeOf(() => book.invite(TERMS))).toBe('pairing.invalid_invitation');
  for (const id of ids) book.cancel(id);
  expect(codeOf(() => book.find(ids[0]))).toBe('pairing.cancelled');
  for (let index = 0; index < 40; index += 1) book.cancel(book.invite(TERMS).id);
  expect(codeOf(() => book.find(ids[0]))).toBe('pairing.no_invitation');
});

test('kinds that do not exist are refused', () => {
  expect(codeOf(() => open().book.invite({ kind: 'admin' as never, name: 'x' }))).toBe('pairing.invalid_invitation');
});
