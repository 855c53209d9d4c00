import { expect, test } from 'vitest';
import { commandsFor, loadCommands } from './command-table.ts';

test('each command is found by the name that it has', async () => {
  for (const { name } of await loadCommands()) {
    const found = await commandsFor(name.split(' '));
    expect(found.map((each) => each.name)).toEqual([name]);
  }
});

test.each([
  [['--home', 'exec', 'status'], ['status']],
  [['--json', 'device', 'list', '--home', '/tmp'], ['device list']],
  [['exec', '--', 'status'], ['exec']],
  [['--version'], []],
])('%j loads %j alone', async (argv, names) => {
  expect((await commandsFor(argv)).map(({ name }) => name)).toEqual(names);
});

test.each([[[]], [['--help']], [['help', 'exec']], [['device']], [['devise', 'list']], [['--', 'exec']]])(
  '%j takes all of them to answer',
  async (argv) => {
    expect(await commandsFor(argv)).toHaveLength((await loadCommands()).length);
  },
);
