import { visibleText } from '@palyra/primitives';
import type { HostReport, LayerReport, TierReport } from '@palyra/sandbox';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';
import { wrap } from './wrap.ts';

const COLUMNS = 80;
const STATE_COLUMNS = 'enforced'.length;

/** One block for each tier: whether it can be had, then its layers. */
export function renderHostReport(report: HostReport, paint: Paint): string {
  const blocks = [hostLine(report), ...report.tiers.map((tier) => tierLines(tier, paint).join('\n'))];
  return `${blocks.join('\n\n')}\n`;
}

/** The shape is API: fields may be added. */
export function hostReportAsJson({
  kernel,
  architecture,
  uid,
  bubblewrap,
  tiers,
}: HostReport): Readonly<Record<string, unknown>> {
  return {
    kernel,
    architecture,
    uid,
    bubblewrap: bubblewrap === undefined ? null : { path: bubblewrap.path, version: bubblewrap.version ?? null },
    tiers: tiers.map(({ tier, executor, state, reason, fix, layers }) => ({
      tier,
      executor,
      state,
      reason: reason ?? null,
      fix: fix ?? null,
      layers: layers.map((each) => ({
        layer: each.layer,
        state: each.state,
        detail: each.detail,
        fix: each.fix ?? null,
      })),
    })),
  };
}

function hostLine({ kernel, architecture, uid }: HostReport): string {
  return `This host: Linux ${visibleText(kernel)} on ${architecture}, as ${uid === 0 ? 'root' : `uid ${uid}`}`;
}

const TITLES: Readonly<Record<TierReport['tier'], string>> = {
  C: 'Tier C (strict): a wall around each command',
  B: "Tier B (limits): limits and no wall, the host's files stay in sight",
};

function tierLines(tier: TierReport, paint: Paint): readonly string[] {
  const { reason, fix, layers } = tier;
  const width = Math.max(...layers.map(({ layer }) => layer.length));
  const held = layers.filter(({ state }) => state === 'enforced').length;
  const tally = held === layers.length ? `all ${held} layers hold` : `${held} of ${layers.length} layers hold in full`;
  const style = tier.state === 'available' ? 'fix' : tier.state === 'operator_only' ? 'warning' : 'error';
  const name = `${tier.state.replaceAll('_', ' ')}:`;
  return [
    paint('title', TITLES[tier.tier]),
    ...labelled(name, { text: reason ?? `${tally}.`, paintLabel: (text) => paint(style, text) }),
    ...(fix === undefined ? [] : labelled('fix:', { text: fix, paintLabel: (text) => paint('fix', text) })),
    '',
    ...layerLines(layers, { paint, width, saidAbove: fix }),
  ];
}

interface Labelled {
  readonly text: string;
  readonly indent?: number;
  paintLabel(text: string): string;
}

/** A label and a text that goes on below itself. */
function labelled(label: string, { text, indent = 0, paintLabel }: Labelled): readonly string[] {
  const rows = wrap(safeText(text), COLUMNS - indent - label.length - 1);
  const gap = ' '.repeat(indent);
  return rows.map((row, at) =>
    at === 0 ? `${gap}${paintLabel(label)} ${row}` : `${gap}${' '.repeat(label.length)} ${row}`,
  );
}

interface LayerColumns {
  readonly paint: Paint;
  readonly width: number;
  readonly saidAbove: string | undefined;
}

function layerLines(layers: readonly LayerReport[], columns: LayerColumns): readonly string[] {
  const shown = withoutTail(layers);
  const lines = shown.flatMap((layer, at) => {
    // Neighbours often share their fix: it is said once, below the last of them.
    const isSaid = layer.fix === columns.saidAbove || layer.fix === shown[at + 1]?.fix;
    return [...layerRows(layer, columns), ...(isSaid ? [] : fixRows(layer, columns))];
  });
  const hidden = layers.length - shown.length;
  if (hidden === 0) return lines;
  return [...lines, `  ${columns.paint('faint', `and ${hidden} more like that`)}`];
}

/** Of those at the end that are missing and say the same, one. */
function withoutTail(layers: readonly LayerReport[]): readonly LayerReport[] {
  const last = layers.at(-1);
  const isSame = ({ state, detail, fix }: LayerReport) =>
    state === 'missing' && state === last?.state && detail === last.detail && fix === last.fix;
  const different = layers.findLastIndex((layer) => !isSame(layer));
  return layers.slice(0, different + 2);
}

const STYLES = { enforced: 'fix', partly: 'warning', missing: 'error' } as const;

function layerRows({ layer, state, detail }: LayerReport, { paint, width }: LayerColumns): readonly string[] {
  const indent = 2 + width + 2 + STATE_COLUMNS + 2;
  const [first = '', ...more] = wrap(safeText(detail), COLUMNS - indent);
  return [
    `  ${layer.padEnd(width)}  ${paint(STYLES[state], state)}${' '.repeat(STATE_COLUMNS - state.length)}  ${first}`,
    ...more.map((row) => `${' '.repeat(indent)}${row}`),
  ];
}

function fixRows({ fix }: LayerReport, { paint, width }: LayerColumns): readonly string[] {
  if (fix === undefined) return [];
  const indent = 2 + width + 2 + STATE_COLUMNS + 2;
  return labelled('fix:', { text: fix, indent, paintLabel: (text) => paint('fix', text) });
}
