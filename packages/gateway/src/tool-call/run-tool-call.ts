import type { Readiness } from '../catalog/tool.ts';
import { type CallEnd, refusedByFault } from './call-end.ts';
import type { CallLedger } from './call-ledger.ts';
import type { AdmittedCall, DecidedCall, OpenedCall } from './decided-call.ts';
import type { PermittedCall } from './permitted-call.ts';
import type { ToolCallResult } from './tool-call-result.ts';

type Passed<Call> = { readonly kind: 'passed'; readonly call: Call } | Extract<CallEnd, { readonly kind: 'refused' }>;

/** What happens to a call, in this order. None of them is ever left out, and none comes earlier. */
export interface ToolCallSteps {
  /** Known tool, sound input, room in the budget, and a plan of what would be done. Nothing runs. */
  admit(call: OpenedCall): Promise<Passed<AdmittedCall>>;
  /** Cedar: allow, ask or deny, by what the plan enforces. */
  decide(call: AdmittedCall): Passed<DecidedCall>;
  /** Where policy asks, a human's word; then policy decides again with it. The only maker of permitted calls. */
  approve(call: DecidedCall, ledger: CallLedger): Promise<Passed<PermittedCall>>;
  /** Some wait for whoever was told of the permission; all others pass at once. Nothing of it has begun. */
  collect(call: PermittedCall): Promise<Passed<PermittedCall>>;
  /** Durable before anything runs: from here on the call counts, and the approval is used up. */
  recordIntent(call: PermittedCall, ledger: CallLedger): Promise<Passed<PermittedCall>>;
  /**
   * The same checks, for a call that changes nothing: its intent is recorded with its end. Undefined: it is not such a call,
   * or an approval is used up by it.
   */
  withholdIntent(call: PermittedCall, ledger: CallLedger): Promise<Passed<PermittedCall> | undefined>;
  /** Takes nothing but a permitted call, and each one once. */
  execute(call: PermittedCall, ready?: Readiness): Promise<CallEnd>;
  /** One attestation for every end, durable before anybody is told. */
  attest(call: OpenedCall, end: CallEnd, ledger: CallLedger): Promise<ToolCallResult>;
}

/** One proposed call in, one attested outcome out. This is the product. */
export async function runToolCall(call: OpenedCall, steps: ToolCallSteps, ledger: CallLedger): Promise<ToolCallResult> {
  const end = await attempt(call, steps, ledger).catch(refusedByFault);
  return steps.attest(call, end, ledger);
}

async function attempt(opened: OpenedCall, steps: ToolCallSteps, ledger: CallLedger): Promise<CallEnd> {
  const admitted = await steps.admit(opened);
  if (admitted.kind === 'refused') return admitted;
  // What it holds of the budget is given back by whoever attests it, wherever it ends.
  ledger.follow(admitted.call);

  const decided = steps.decide(admitted.call);
  if (decided.kind === 'refused') return decided;

  const permitted = await steps.approve(decided.call, ledger);
  if (permitted.kind === 'refused') return permitted;

  const collected = await steps.collect(permitted.call);
  if (collected.kind === 'refused') return collected;

  return inTurn(permitted.call, async () => {
    const withheld = await steps.withholdIntent(permitted.call, ledger);
    if (withheld?.kind === 'refused') return withheld;
    if (withheld !== undefined) return recordedWithEnd(withheld.call, steps, ledger);

    const recording = steps.recordIntent(permitted.call, ledger);
    // SECURITY: T-32 — beside the record, so nothing that anybody could notice; without the record it is given up.
    using ready = await readyBeside(recording, permitted.call);
    const intended = await recording;
    if (intended.kind === 'refused') return intended;

    return await steps.execute(intended.call, ready);
  });
}

/**
 * SECURITY: T-32 — nobody is told what came of it before intent and end are on record, and nobody could have noticed it. The
 * intent of one that its tool refused is recorded before the refusal, as that of any other.
 */
async function recordedWithEnd(call: PermittedCall, steps: ToolCallSteps, ledger: CallLedger): Promise<CallEnd> {
  call.proposed.onBegun?.();
  const end = await steps.execute(call);
  if (end.kind === 'executed') return end;
  const intended = await steps.recordIntent(call, ledger);
  return intended.kind === 'refused' ? intended : end;
}

/** When the record is on its way, and this thread has nothing to do but to wait for it. */
async function readyBeside(recording: Promise<unknown>, call: PermittedCall): Promise<Readiness | undefined> {
  const { tool } = call;
  if (tool.makeReady === undefined) return undefined;
  // Heard of by whoever waits for it.
  recording.catch(() => undefined);
  await new Promise(setImmediate);
  try {
    return tool.makeReady(call);
  } catch {
    // SECURITY: T-32 — a fault here would have the call attested as refused while its intent is on its way to the disk.
    return undefined;
  }
}

/** Calls of one run that are not safe beside one another wait here, where nothing is recorded of them as begun. */
function inTurn(call: PermittedCall, act: () => Promise<CallEnd>): Promise<CallEnd> {
  // An agent's own tool may never be reported: whoever waited for it would wait for ever.
  if (call.tool.isDelegated === true) return act();
  // Its program puts an agent's own commands in order: one in its background serves pages until it is stopped.
  if (call.proposed.collected !== undefined) return act();
  // A session makes calls in its own run: whoever waited for it would keep it from ending.
  if (call.tool.isSession === true) return act();
  return call.turns.take(call.tool.metadata.isParallel ? 'shared' : 'alone', act);
}
