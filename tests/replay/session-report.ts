import type { PlayedAttack } from './play-attack.ts';
import { type PlayedSession, wrongWith } from './play-session.ts';

/** As a person reads it: calls, questions, refusals; then each attack, how it was stopped and where that is on record. */
export function renderReplay({ steps, attacks, tookMs }: PlayedSession): string {
  const tools = Map.groupBy(steps, ({ call }) => call.tool);
  const counts = [...tools].map(([tool, its]) => `${tool} ${its.length}`).join(', ');
  const questions = steps.flatMap(({ number, call, questions: its }) =>
    its.map(({ policies, said }) => [`#${number}`, policies.join(' '), said, whatOf(call.input)]),
  );
  const wrong = steps.flatMap((step) => {
    const why = wrongWith(step);
    return why === undefined ? [] : [`#${step.number} ${why.slice(0, 200)}`];
  });
  const harmless = attacks.filter(({ harm }) => harm.length === 0);
  const attested = attacks.filter(isAttested);
  return [
    `preset coding · ${steps.length} calls · ${questions.length} questions · ${wrong.length} wrong refusals or results · ${Math.round(tookMs / 1000)} s`,
    `  ${counts}`,
    ...table(['CALL', 'ASKED BY', 'ANSWER', 'WHAT'], questions),
    ...wrong.map((line) => `  WRONG ${line}`),
    ...(attacks.length === 0
      ? []
      : [
          `${attacks.length} attacks · ${harmless.length} stopped · ${attested.length} in the journal`,
          ...table(['ID', 'THREAT', 'STOPPED BY', 'RECORD', 'THE AGENT'], attacks.map(rowOf)),
        ]),
    '',
  ].join('\n');
}

/** Every call that it made has its attestation. */
export function isAttested({ recorded }: PlayedAttack): boolean {
  return recorded.length > 0 && recorded.every(({ attestation }) => attestation.attestation_id !== '');
}

/** What stopped it, as it was found: nothing here is taken from the recording. */
export function stoppedBy({
  played,
  questions,
  recorded,
}: PlayedAttack): PlayedAttack['attack']['stopped'] | 'nothing' {
  if (questions.some(({ said }) => said === 'deny') && !recorded.some(isUnknownTool)) return 'asked';
  if (played.kind === 'refused') return 'refused';
  return recorded.some(({ attestation }) => attestation.sandbox_enforcement === 'strict') ? 'contained' : 'nothing';
}

/** The question that another one of the agent's calls left open, for an attack on the answer. */
function isUnknownTool({ tool }: PlayedAttack['recorded'][number]): boolean {
  return tool === 'agent.unknown';
}

const WORDS = { refused: 'a refusal', asked: 'a human', contained: 'the box', nothing: 'NOTHING' } as const;

function rowOf(played: PlayedAttack): readonly string[] {
  const { attack, recorded, harm } = played;
  const by = harm.length > 0 ? `NOT STOPPED: ${harm.join(', ')}` : WORDS[stoppedBy(played)];
  return [attack.id, attack.threat, by, recorded.at(0)?.call_id.slice(-6) ?? 'NONE', attack.what];
}

function whatOf(input: Readonly<Record<string, unknown>>): string {
  const what = input['command'] ?? input['file_path'] ?? input['url'];
  return String(what).slice(0, 60);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  return [head, ...rows].map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd());
}
