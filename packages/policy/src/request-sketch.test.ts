import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askableActions } from './askable-actions.ts';
import { toCedarRequest } from './cedar-request.ts';
import { applyEdits, LEAVING_EDITS } from './fact-edits.ts';
import { leavingsOf } from './leavings.ts';
import { readSchema } from './presets.ts';
import type { CallFacts, Leaving } from './request.ts';
import { requestFromSketch, sketchOfRequest } from './request-sketch.ts';
import { EVERYTHING_LISTED } from './test-request.ts';

const ACTIONS = askableActions(readSchema());

function callOf(facts: Parameters<typeof requestFromSketch>[0]['facts']): CallFacts {
  return requestFromSketch({ action: 'tool.execute', facts }).context.facts as CallFacts;
}

test('without facts a request is as ordinary as can be, whatever the action', () => {
  for (const { name, resources } of ACTIONS) {
    const request = requestFromSketch({ action: name, facts: {} });
    expect(sketchOfRequest(request)).toEqual({ action: name, facts: {} });
    expect(resources).toContain(request.resource.type);
    expect(() => toCedarRequest(request, EVERYTHING_LISTED, { approved: false, assurance: 'none' })).not.toThrow();
  }
});

test('a request comes back from its sketch', () => {
  const texts = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 });
  const facts = fc.record(
    {
      'principal.type': fc.constant('User'),
      'principal.id': fc.constant('ada'),
      groups: texts,
      'resource.id': fc.constant('x.y'),
      'context.device_id': fc.constant('d'),
      'context.workspace': fc.constant('w'),
      'context.coverage': fc.constant('wrapped'),
      'context.now': fc.integer({ min: 1, max: 1e9 }),
      'context.tool_name': fc.constant('t.u'),
      'context.capabilities': fc.constant(['network']),
      'context.enforced.tier': fc.constant('B'),
      'context.enforced.hosts': texts,
      'context.enforced.registry_hosts': texts,
      'context.enforced.upstream.server': fc.constant('s'),
      'context.declared.executable': fc.constant('ls'),
      'context.declared.arguments': texts,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(facts, (chosen) => {
      const request = requestFromSketch({ action: 'tool.execute', facts: chosen });
      expect(requestFromSketch(sketchOfRequest(request))).toEqual(request);
    }),
  );
});

test('every way out of the box can be made, alone, and unmade', () => {
  for (const leaving of Object.keys(LEAVING_EDITS) as Leaving[]) {
    const fact = 'context.enforced.leaves';
    const made = applyEdits({ action: 'tool.execute', facts: {} }, [{ kind: 'be', fact, value: [leaving] }]);
    const { enforced, capabilities } = callOf(made.facts);
    expect(leavingsOf(enforced, capabilities)).toEqual([leaving]);
    const unmade = applyEdits(made, [{ kind: 'be', fact, value: [] }]);
    const call = callOf(unmade.facts);
    expect(leavingsOf(call.enforced, call.capabilities)).toEqual([]);
  }
});
