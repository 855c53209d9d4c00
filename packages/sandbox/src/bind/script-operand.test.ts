import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findScriptOperand } from './script-operand.ts';

const script = (index: number) => ({ kind: 'script', index });

describe('findScriptOperand', () => {
  it.each([
    [['bash'], ['bash', 'x.sh'], 1],
    [['sh'], ['sh', '-e', 'x.sh', 'y'], 2],
    [['bash'], ['bash', '-euo', 'pipefail', 'x.sh'], 3],
    [['bash'], ['bash', '--norc', '--', '-x.sh'], 3],
    [['python3', 'python'], ['python3', '-u', '-W', 'ignore', 'x.py'], 4],
    [['node'], ['node', '--max-old-space-size=512', 'x.js', '--eval'], 2],
    [['perl'], ['perl', '-w', 'x.pl'], 2],
  ])('of %s in %j it is argument %i', (names, argv, index) => {
    expect(findScriptOperand(names, argv)).toEqual(script(index));
  });

  it.each([
    [['bash'], ['bash', '-c', 'x.sh']],
    [['bash'], ['bash', '-lc', 'x.sh']],
    [['bash'], ['bash', '-s', 'x.sh']],
    [['bash'], ['bash', '+x', 'x.sh']],
    [['bash'], ['bash', '-oe', 'x.sh']],
    [['bash'], ['bash', '--rcfile', 'evil', 'x.sh']],
    [['bash'], ['bash']],
    [
      ['python3', 'python'],
      ['python3', '-m', 'http.server'],
    ],
    [
      ['python3', 'python'],
      ['python3', '-'],
    ],
    [['node'], ['node', '--conditions', 'dev', 'x.js']],
    [['node'], ['node', '-r', './hook.js', 'x.js']],
    [['node'], ['node', '--require=./hook.js', 'x.js']],
    [['node'], ['node', '--run=test', 'x.js']],
    [['node'], ['node', '--experimental-loader=./hook.js', 'x.js']],
    [['node'], ['node', '--openssl-config=own.cnf', 'x.js']],
    [['bun'], ['bun', 'test']],
    [['awk'], ['awk', '{print}', 'x']],
    [['timeout'], ['timeout', '5', './x.sh']],
    [['npm'], ['npm', 'test']],
  ])('of %s in %j nothing is claimed', (names, argv) => {
    expect(findScriptOperand(names, argv)).toMatchObject({ kind: 'unknown', why: expect.stringMatching(/\.$/) });
  });

  it('says nothing of a program that runs no code', () => {
    expect(findScriptOperand(['git'], ['git', 'status'])).toEqual({ kind: 'none' });
    expect(findScriptOperand(['ls'], ['ls', 'x.sh'])).toEqual({ kind: 'none' });
  });

  it('never takes an argument behind an option that it does not know', () => {
    const option = fc.stringMatching(/^--[a-z]{3,12}$/);
    fc.assert(
      fc.property(option, fc.stringMatching(/^[a-z.]{1,8}$/), (unknown, operand) => {
        fc.pre(!['--norc', '--noprofile', '--posix', '--login', '--verbose', '--restricted'].includes(unknown));
        expect(findScriptOperand(['bash'], ['bash', unknown, operand]).kind).toBe('unknown');
      }),
    );
  });
});
