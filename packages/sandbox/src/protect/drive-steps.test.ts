import { describe, expect, it } from 'vitest';
import { drive } from './drive-steps.ts';

describe('steps that take long', () => {
  it('let others go first, however many there are', async () => {
    let isOthersTurn = false;
    setImmediate(() => {
      isOthersTurn = true;
    });
    function* steps(): Generator<undefined, string> {
      while (!isOthersTurn) yield undefined;
      return 'done';
    }
    expect(await drive(steps())).toBe('done');
  });

  it('end when they are aborted, and close what they hold', async () => {
    const abort = new AbortController();
    const closed: string[] = [];
    function* steps(): Generator<undefined, void> {
      try {
        for (;;) yield undefined;
      } finally {
        closed.push('a directory');
      }
    }
    setImmediate(() => abort.abort(new Error('enough')));
    await expect(drive(steps(), abort.signal)).rejects.toThrow('enough');
    expect(closed).toEqual(['a directory']);
  });
});
