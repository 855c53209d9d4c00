import { describe, expect, it } from 'vitest';
import { programsIn, withoutPrograms } from './rebase-todo.ts';

const PATH = '/w/.git/rebase-merge/git-rebase-todo';
const TODO = Buffer.from('pick 1 exec\nexec a\n  x b\n\tx\nexecute c\n# exec d\nexec\r\nlabel x\n');

describe('steps of a rebase', () => {
  it('have programs by both of their names, as git reads them', () => {
    expect(programsIn(PATH, TODO)).toEqual(['exec a', '  x b', '\tx', 'exec\r']);
  });

  it('are the same without those that are new', () => {
    const left = withoutPrograms(PATH, TODO, ['exec a']);
    expect(left?.toString()).toBe('pick 1 exec\nexec a\nexecute c\n# exec d\nlabel x\n');
  });
});

describe('a merge strategy', () => {
  const [ofRebase, ofPicks] = ['/w/.git/rebase-merge/strategy', '/w/.git/sequencer/opts'];

  it.each(['ort\n', 'ours', 'recursive\n'])('of git itself is no program: %j', (text) => {
    expect(programsIn(ofRebase, Buffer.from(text))).toEqual([]);
    expect(programsIn(ofPicks, Buffer.from(`[options]\n\trecord-origin = true\n\tstrategy = ${text}`))).toEqual([]);
  });

  it.each(['../../evil\n', 'mine', 'ort\n/../../evil', ' ort'])('of another name is one: %j', (text) => {
    expect(programsIn(ofRebase, Buffer.from(text))).not.toEqual([]);
    expect(withoutPrograms(ofRebase, Buffer.from(text), [])).toBeUndefined();
  });

  it.each([
    '[options]\nstrategy = ../../evil',
    '[Options] Strategy = "ours/../../evil"',
    '[options',
    '[options]strategy',
  ])('is found among the options of picks, or they are not to be read: %j', (text) => {
    expect(programsIn(ofPicks, Buffer.from(text))).not.toEqual([]);
  });
});
