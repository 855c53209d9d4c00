import { createHash } from 'node:crypto';
import { sha256Hex } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { type ApprovalSubject, saltedSubject, subjectDigest } from './approval-subject.ts';

const SUBJECT: ApprovalSubject = {
  action: 'palyra.process.run@1',
  arguments: { argv: ['make', 'flash'] },
  bound: [{ name: '/usr/bin/make', sha256: sha256Hex('make') }],
  skill: null,
  profile: sha256Hex('profile'),
  workspace: 'shop',
  principal: 'agent:coder',
  session: 'session 1',
};

const SALT = '07'.repeat(32);

test('a subject has these digests, which other programs make too', () => {
  const plain = subjectDigest(SUBJECT);
  const parts = [
    'palyra.process.run@1',
    '{"argv":["make","flash"]}',
    `[{"name":"/usr/bin/make","sha256":"${sha256Hex('make')}"}]`,
    '',
    sha256Hex('profile'),
    'shop',
    'agent:coder',
    'session 1',
  ];
  expect(plain).toBe(framed('palyra/approval-subject/v1', parts));
  expect(saltedSubject(plain, SALT)).toBe(framed('palyra/approval-subject/v2', [SALT, plain]));
  expect([plain, saltedSubject(plain, SALT)]).toEqual([
    '2ce2d1af0fc22a669b2f5e4b34e88e7066b5e9e350b3e2a84ebc400f5e86b15e',
    '7064420e6b8c57b10c11f519498eda6026123332c76c0f1e67b5d90203da4e88',
  ]);
});

test('with another salt it is another', () => {
  const plain = subjectDigest(SUBJECT);
  expect(saltedSubject(plain, '08'.repeat(32))).not.toBe(saltedSubject(plain, SALT));
});

/** As docs/reference/approvals.md has it. */
function framed(domain: string, parts: readonly string[]): string {
  const number = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
  };
  const frame = (text: string) => [number(Buffer.byteLength(text)), Buffer.from(text)];
  const all = [...frame(domain), number(parts.length), ...parts.flatMap(frame)];
  return createHash('sha256').update(Buffer.concat(all)).digest('hex');
}
