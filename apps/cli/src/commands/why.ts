import type { CallRecord } from '@palyra/client';
import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { connectionInWords, connectionsIn, wasAskedAbout } from '../render/connections.ts';
import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { wrap } from '../render/wrap.ts';

/** One page on one call. */
export const why: CommandDefinition = {
  name: 'why',
  group: 'Agents',
  summary: 'Explain one call: policy, approver, box, proof',
  arguments: [{ name: 'CALL', summary: 'Its id, or the last 4 characters or more', isRequired: true }],
  async run({ arguments: [id = ''] }, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      const record = await client.runs.getCall(id);
      return { json: record, render: (paint) => renderRecord(record, paint, context.columns() ?? 100) };
    });
  },
};

const LABEL = 12;

function renderRecord(
  { result, principal, proposed_at: at, input, record }: CallRecord,
  paint: Paint,
  columns: number,
): string {
  const { decision, approval, outcome, attestation } = result;
  const field = (name: string, text: string | undefined) =>
    text === undefined || text === ''
      ? []
      : wrap(safeText(text), Math.max(30, columns - LABEL - 1)).map(
          (line, row) => `${paint('faint', (row === 0 ? name : '').padEnd(LABEL))} ${line}`,
        );
  const lines = [
    paint('title', `${result.tool} ${result.call_id}`),
    ...field('asked by', `${principal}${at === undefined ? '' : ` at ${at}`}`),
    ...field('input', input === undefined ? '(erased)' : JSON.stringify(input)),
    ...field('policy', `${decision.kind} by ${decision.policy_ids.join(', ')}: ${decision.reason}`),
    ...policyTexts(record)
      .flatMap((text) => text.trimEnd().split('\n'))
      .map((line) => `${' '.repeat(LABEL)} ${paint('faint', safeText(line))}`),
    ...(approval === undefined
      ? field('approval', notAsked(record))
      : field(
          'approval',
          `${approval.outcome} by ${approval.decided_by ?? 'nobody'}, ${approval.scope ?? ''} ${approval.assurance ?? ''}`,
        )),
    ...field(
      'outcome',
      [
        outcome.kind,
        outcome.exit_code === undefined ? '' : `exit ${outcome.exit_code}`,
        outcome.kind === 'completed' ? '' : `${outcome.code}: ${outcome.message}`,
      ]
        .filter((part) => part !== '')
        .join(', '),
    ),
    ...field(
      'ran in',
      `${attestation.executor}, enforcement ${attestation.sandbox_enforcement}, coverage ${attestation.coverage}`,
    ),
    ...recordFields(record).flatMap(([name, text]) => field(name, text)),
    ...field(
      'proof',
      `entry ${attestation.journal_seq}, attestation ${attestation.attestation_id}, execution ${attestation.execution_sha256}`,
    ),
    ...field('verify', 'palyra verify HOME, or palyra journal bundle for somebody else'),
  ];
  return `${lines.join('\n')}\n`;
}

/** Of a call that was allowed a connection may have been asked about. */
function notAsked(record: JsonValue | undefined): string {
  const { connections, attestation } = asObject(record);
  const isAsked = wasAskedAbout(connectionsIn(asObject(attestation)['egress']), connections);
  return isAsked ? 'nobody was asked about the call, but somebody about a connection: see below' : 'nobody was asked';
}

function policyTexts(record: JsonValue | undefined): readonly string[] {
  const { policies } = asObject(record);
  if (!Array.isArray(policies)) return [];
  return (policies as readonly JsonObject[]).map(({ text }) => (typeof text === 'string' ? text : ''));
}

/** What a person wants to know of the rest; `--json` has all of it. */
function recordFields(record: JsonValue | undefined): readonly (readonly [string, string])[] {
  const { bound, not_bound: notBound, connections, attestation } = asObject(record);
  const { sandbox, separation, policy_set_sha256: policies, egress, egress_left_out: leftOut } = asObject(attestation);
  return [
    ...listOf(bound).map((each): readonly [string, string] => {
      const { name, sha256 } = asObject(each);
      return ['bytes', `${wordOf(name)} ${wordOf(sha256).slice(0, 16)}`];
    }),
    ...listOf(notBound).map((each): readonly [string, string] => ['not bound', wordOf(each)]),
    ...listOf(connections).map((each): readonly [string, string] => ['let through', letThrough(asObject(each))]),
    ...connectionsIn(egress).map((each): readonly [string, string] => ['network', connectionInWords(each)]),
    [
      'network',
      typeof leftOut === 'number' ? `${leftOut} more connections: the journal has each of them with the outcome` : '',
    ],
    ['measured', wordsOf(sandbox)],
    ['separation', typeof separation === 'string' ? separation : ''],
    ['policy set', typeof policies === 'string' ? policies : ''],
  ];
}

/** To a host that the call did not name: by whose word, and where that is on record. */
function letThrough({ target, policy_ids: ids, approval_id: approval, journal }: JsonObject): string {
  const by = listOf(ids).map(wordOf).join(', ');
  const asked = approval === undefined ? '' : `, approval ${wordOf(approval).slice(-6)}`;
  return `${wordOf(target)} by ${by}${asked}, entry ${wordOf(journal)}`;
}

function wordsOf(sandbox: JsonValue | undefined): string {
  return Object.entries(asObject(sandbox))
    .map(([name, value]) => `${name} ${listOf(value).length > 0 ? listOf(value).map(wordOf).join(' ') : wordOf(value)}`)
    .join(', ');
}

function wordOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
