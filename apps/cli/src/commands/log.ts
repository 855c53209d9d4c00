import type { CallSummary, JournalEntry, RunSummary } from '@palyra/client';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { linesFromDaemon, type Reached, withDaemon } from '../reach-daemon.ts';
import { decisionInWords } from '../render/decision.ts';
import { renderJson } from '../render/json.ts';
import { choosePaint, type Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

const RUNS_SHOWN = 5;

/** What agents did, newest run last, so that it ends where the eye is. */
export const log: CommandDefinition = {
  name: 'log',
  group: 'Agents',
  summary: 'Show what agents did, call by call',
  arguments: [{ name: 'RUN', summary: 'One run; the last few unless told', isRequired: false }],
  options: [{ flags: '-f, --follow', summary: 'Go on as it happens' }],
  async run({ arguments: [run], options }, context) {
    if (options['follow'] === true) {
      const stream = linesFromDaemon(context, 'operator', (reached) => follow(reached, run, context));
      return { json: null, render: () => '', stream };
    }
    return withDaemon(context, 'operator', async ({ client }) => {
      const ids =
        run === undefined
          ? (await client.runs.list({ limit: RUNS_SHOWN })).map(({ run_id: id }) => id).toReversed()
          : [run];
      const runs = await Promise.all(ids.map((id) => client.runs.get(id)));
      return {
        json: { runs },
        render: (paint) =>
          runs.length === 0
            ? 'No agent has done anything yet.\n'
            : runs.map((each) => renderRun(each, { paint, columns: context.columns() })).join('\n'),
      };
    });
  },
};

interface View {
  readonly paint: Paint;
  readonly columns: number | undefined;
}

interface ShownRun {
  readonly run: RunSummary;
  readonly calls: readonly CallSummary[];
}

function renderRun({ run, calls }: ShownRun, view: View): string {
  const { paint } = view;
  const began = run.started_at?.slice(0, 19).replace('T', ' ') ?? '';
  const head = `${paint('title', `run ${run.run_id.slice(-6)}`)} ${safeText(run.principal)} in ${safeText(run.workspace_root)}, ${began}, ${run.state}`;
  if (calls.length === 0) return `${head}\n${paint('faint', '  no calls')}\n`;
  const rows = calls.map((call) => [
    call.call_id.slice(-6),
    call.proposed_at?.slice(11, 19) ?? '',
    safeText(decisionInWords(call)),
    call.outcome ?? 'under way',
    `${call.took_ms} ms`,
    safeText(call.tool),
    safeText(call.summary),
  ]);
  return `${head}\n${renderTable(['CALL', 'TIME', 'POLICY', 'OUTCOME', 'TOOK', 'TOOL', 'WHAT'], rows, view)}`;
}

/** The record itself, as it is written. */
async function* follow({ client }: Reached, run: string | undefined, context: CommandContext): AsyncGenerator<string> {
  const { stdout } = context.openOutput();
  const paint = choosePaint({ isTerminal: stdout.isTTY === true, variables: context.variables });
  const filter = run === undefined ? {} : { runId: (await client.runs.get(run)).run.run_id };
  for await (const entry of client.journal.tail({ ...filter, signal: context.signal })) {
    yield context.asJson ? renderJson(entry) : `${lineOf(entry, paint)}\n`;
  }
}

function lineOf({ time = '', seq, kind, actor, call_id: call = '', data }: JournalEntry, paint: Paint): string {
  const said = (data ?? {}) as Readonly<Record<string, unknown>>;
  const words = ['tool', 'outcome', 'decision', 'change']
    .map((name) => said[name])
    .filter((word): word is string => typeof word === 'string');
  return [
    paint('faint', `${time.slice(11, 23)} ${seq}`),
    safeText(kind),
    safeText(actor),
    call.slice(-6),
    ...words.map(safeText),
  ]
    .filter((part) => part !== '')
    .join('  ');
}
