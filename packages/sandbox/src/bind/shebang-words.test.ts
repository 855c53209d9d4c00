import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envWords, readFirstLine } from './shebang-words.ts';

const head = (text: string) => Buffer.from(text);

describe('readFirstLine', () => {
  it.each([
    ['#!/bin/sh\necho', '/bin/sh', undefined],
    ['#! /bin/sh -e \necho', '/bin/sh', '-e'],
    ['#!/usr/bin/env -S node --flag\n', '/usr/bin/env', '-S node --flag'],
    ['#!bin/own\n', 'bin/own', undefined],
  ])('reads %j', (text, interpreter, argument) => {
    expect(readFirstLine(head(text))).toEqual({ kind: 'script', interpreter, argument });
  });

  it.each(['#!/bin/sh\r\n', '#!/bin/sh', '#!\n', '#!/bin/s\0h\n', `#!/bin/sh ${'x'.repeat(300)}\n`, '#!/bin/é\n'])(
    'finds %j odd',
    (text) => {
      expect(readFirstLine(head(text))).toEqual({ kind: 'odd' });
    },
  );

  it('leaves everything else to the kernel', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        fc.pre(!(bytes[0] === 0x23 && bytes[1] === 0x21));
        expect(readFirstLine(bytes)).toEqual({ kind: 'native' });
      }),
    );
  });
});

describe('envWords', () => {
  it.each([
    ['node', ['node']],
    ['-S node --flag', ['node', '--flag']],
    ['-Snode', ['node']],
  ])('splits %j', (argument, words) => expect(envWords(argument)).toEqual(words));

  it.each([
    undefined,
    '',
    '-i node',
    'A=1 node',
    '-S A=1 node',
    '-S "node" x',
    '-S node $HOME',
    'node --flag',
    '-vS node',
  ])('does not understand %j', (argument) => expect(envWords(argument)).toBeUndefined());
});
