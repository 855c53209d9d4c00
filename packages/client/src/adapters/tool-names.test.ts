import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createToolNames } from './tool-names.ts';

test('dots become underscores, and the names lead back', () => {
  const names = createToolNames(['palyra.fs.read', 'palyra.fs.apply_patch']);
  expect(names.forModel('palyra.fs.apply_patch')).toBe('palyra_fs_apply_patch');
  expect(names.forPalyra('palyra_fs_apply_patch')).toBe('palyra.fs.apply_patch');
  expect(names.forPalyra('palyra.fs.read')).toBeUndefined();
  expect(names.forPalyra('palyra_process_run')).toBeUndefined();
});

test('two that would be one are told apart, each as it is without the other', () => {
  const names = createToolNames(['mcp.a.b_c', 'mcp.a_b.c']);
  expect(names.forModel('mcp.a.b_c')).toMatch(/^mcp_a_b_c_[0-9a-f]{8}$/);
  expect(names.forModel('mcp.a.b_c')).not.toBe(names.forModel('mcp.a_b.c'));
});

test('whatever tools there are, each has a name that providers take and that leads back to it', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', 'é'), minLength: 1, maxLength: 40 });
  const tool = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
  fc.assert(
    fc.property(fc.uniqueArray(tool, { maxLength: 12 }), (tools) => {
      const names = createToolNames(tools);
      for (const each of tools) {
        expect(names.forModel(each)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(names.forPalyra(names.forModel(each))).toBe(each);
      }
    }),
  );
});
