import { expect, test } from 'vitest';
import { parseVerifierCommand } from './verifier-command.ts';

test('a whole command line is understood, in any order', () => {
  const expected = {
    file: 'receipt.json',
    key: 'root',
    witnesses: ['one', 'two'],
    checkpointFiles: ['seen.txt'],
    requireWitness: true,
    json: true,
  };
  const args = '--witness one receipt.json --key root --json --witness two --checkpoint seen.txt --require-witness';
  expect(parseVerifierCommand(args.split(' '))).toEqual(expected);
  expect(parseVerifierCommand(['receipt.json'])).toMatchObject({ file: 'receipt.json', key: undefined, json: false });
});

test('help is given to whoever asks, whatever else they say', () => {
  expect(['--help', '-h', 'a.json --what --help'].map((line) => parseVerifierCommand(line.split(' ')))).toEqual([
    'help',
    'help',
    'help',
  ]);
});

test.each([
  '',
  'a.json b.json',
  'a.json --key',
  'a.json --key --json',
  'a.json --key x --key y',
  'a.json --what',
  '--json',
])('"%s" is not understood', (line) => {
  expect(parseVerifierCommand(line.split(' ').filter((word) => word !== ''))).toBeUndefined();
});
