import { expect, test } from 'vitest';
import { MAX_INPUT_BYTES, parseInput } from './parse-input.ts';

const TOOL = {
  name: 'test.tool',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
};

const refusal = (text: string) => {
  const parsed = parseInput(text, TOOL);
  return parsed.kind === 'refused' ? { code: parsed.code, message: parsed.message, fix: parsed.fix } : undefined;
};

test('what the tool takes comes out as a value', () => {
  expect(parseInput(' {"text":"\\u0061"} ', TOOL)).toEqual({ kind: 'parsed', value: { text: 'a' } });
});

test('a key that is there twice is refused, however it is spelt', () => {
  expect(refusal('{"text":"a","\\u0074ext":"b"}')).toEqual({
    code: 'gateway.invalid_input',
    message: 'The input cannot be read: An object repeats the key at line 1, column 13 (offset 12).',
    fix: 'Name every key of an object once.',
  });
});

test('what is no object, no JSON, too deep or too large is refused', () => {
  expect(refusal('["text"]')?.message).toBe('The input is not an object.');
  expect(refusal('')?.message).toMatch(/^The input cannot be read: /);
  expect(refusal(`{"text":${'['.repeat(40)}${']'.repeat(40)}}`)?.message).toMatch(/deeper than 32 levels/);
  expect(refusal(`{"text":"${'a'.repeat(MAX_INPUT_BYTES)}"}`)?.message).toBe('The input is larger than 1048576 bytes.');
  // Fewer letters than the limit, and more bytes.
  expect(refusal(`{"text":"${'€'.repeat(MAX_INPUT_BYTES / 2)}"}`)?.message).toBe(
    'The input is larger than 1048576 bytes.',
  );
});

test('what is not in the schema is refused with a hint', () => {
  expect(refusal('{"txt":"a"}')).toEqual({
    code: 'gateway.invalid_input',
    message: 'The field txt is not known.',
    fix: 'Did you mean text?',
  });
  expect(refusal('{}')?.fix).toBe('`palyra tool list` shows what test.tool takes.');
});
