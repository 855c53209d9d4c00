import { create } from '@bufbuild/protobuf';
import {
  AddWorkspaceRequestSchema,
  CallProposalSchema,
  GetRunRequestSchema,
  RecordDecisionRequestSchema,
  RunStreamRequestSchema,
} from '@palyra/api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkMessage } from './check-message.ts';

function proposal(inputJson: string): () => void {
  const message = { message: { case: 'propose', value: { tool: 'palyra.echo', inputJson } } } as const;
  return () => checkMessage(RunStreamRequestSchema, create(RunStreamRequestSchema, message));
}

function isRefused(act: () => void): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}

const INVALID = expect.objectContaining({ code: 'daemon.invalid_request' });

test('an ordinary call passes', () => {
  expect(proposal('{"text":"[[[[", "constructors": ["prototype", "__proto__"], "unicode": "\\u00e4"}')).not.toThrow();
  expect(proposal('this is no JSON, which is for the tool to say: proto')).not.toThrow();
});

test('nesting is counted outside of strings, however they are written', () => {
  fc.assert(
    fc.property(fc.nat(130), fc.string(), (depth, text) => {
      const json = `${'{"a":['.repeat(depth)}${JSON.stringify(text)}${']}'.repeat(depth)}`;
      expect(isRefused(proposal(json))).toBe(depth * 2 > 64);
    }),
  );
});

test('a document that is all brackets is refused, and fast', () => {
  expect(proposal('['.repeat(100_000))).toThrow(INVALID);
  expect(proposal(`${'['.repeat(64)}${']'.repeat(64)}`)).not.toThrow();
});

test.each(['{"__proto__":1}', '{"a":[{"constructor":{}}]}', '{"\\u005f_proto__":{}}', '{"prototype":null}'])(
  '%s has a key that every object has',
  (json) => {
    expect(proposal(json)).toThrow(INVALID);
  },
);

test('ids, texts and lists have their bounds', () => {
  const run = (runId: string) => () => checkMessage(GetRunRequestSchema, create(GetRunRequestSchema, { runId }));
  expect(run('')).not.toThrow();
  expect(run('7XVG')).not.toThrow();
  expect(run('../../etc')).toThrow(INVALID);
  expect(run('a\nb')).toThrow(INVALID);
  const path = (text: string) => () =>
    checkMessage(AddWorkspaceRequestSchema, create(AddWorkspaceRequestSchema, { path: text }));
  expect(path('/a\0b')).toThrow(INVALID);
  expect(path('/\ud800')).toThrow(INVALID);
  expect(path(`/${'a'.repeat(70_000)}`)).toThrow(expect.objectContaining({ code: 'daemon.too_large' }));
  const taints = Array.from({ length: 10_001 }, () => 'web');
  expect(() => checkMessage(CallProposalSchema, create(CallProposalSchema, { taints }))).toThrow(
    expect.objectContaining({ code: 'daemon.too_large' }),
  );
  const statement = 'a'.repeat(70_000);
  expect(() =>
    checkMessage(RecordDecisionRequestSchema, create(RecordDecisionRequestSchema, { statement })),
  ).not.toThrow();
});
