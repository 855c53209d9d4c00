import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { CommandDefinition } from '../command.ts';
import { loadCommands } from '../command-table.ts';
import { type HelpTopic, helpAsJson, renderHelp } from './help.ts';
import { choosePaint, plainPaint } from './paint.ts';

const COMMANDS = await loadCommands();

const colour = choosePaint({ isTerminal: true, variables: {} });

function many(count: number): readonly CommandDefinition[] {
  const run = () => Promise.reject(new Error('not run here'));
  const summary = 'Do something that needs a few words to be explained';
  return Array.from({ length: count }, (_, index) => ({
    name: `noun${index} verb`,
    group: 'Configuration',
    summary,
    run,
  }));
}

function size(text: string): { lines: number; columns: number } {
  const lines = text.trimEnd().split('\n');
  return { lines: lines.length, columns: Math.max(...lines.map((line) => line.length)) };
}

const TOPICS: readonly HelpTopic[] = [
  { kind: 'program' },
  { kind: 'noun', noun: 'config' },
  ...COMMANDS.map((command): HelpTopic => ({ kind: 'command', command })),
];

test.each(TOPICS)('the help of %o fits a screen of 24 lines and 80 columns', (topic) => {
  const { lines, columns } = size(renderHelp({ topic, commands: COMMANDS, version: '0.1.0' }, plainPaint));
  expect([lines < 24, columns <= 80]).toEqual([true, true]);
});

test.each([1, 8, 30, 90])('with %i commands the help of the program still fits and names them all', (count) => {
  const help = renderHelp({ topic: { kind: 'program' }, commands: many(count), version: '0.1.0' }, plainPaint);
  const { lines, columns } = size(help);
  expect([lines < 24, columns <= 80]).toEqual([true, true]);
  expect(many(count).filter(({ name }) => !help.includes(name.replace(' verb', '')))).toEqual([]);
});

test('colour changes no letter', () => {
  for (const topic of TOPICS) {
    const input = { topic, commands: COMMANDS, version: '0.1.0' };
    expect(renderHelp(input, colour)).not.toBe(renderHelp(input, plainPaint));
    expect(stripVTControlCharacters(renderHelp(input, colour))).toBe(renderHelp(input, plainPaint));
  }
});

test('programs get the same as data', () => {
  expect(helpAsJson({ topic: { kind: 'program' }, commands: COMMANDS, version: '0.1.0' })).toMatchObject({
    version: '0.1.0',
    commands: COMMANDS.map(({ name, group, summary }) => ({ name, group, summary })),
  });
});
