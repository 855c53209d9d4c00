import { tmpdir } from 'node:os';
import { visibleText } from '@palyra/primitives';
import type { ProbeDeps } from '@palyra/sandbox';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { findHome } from '../find-home.ts';
import { hostReportAsJson, renderHostReport } from '../render/host-report.ts';

/** What was tried just now, never what was true another time. */
export const doctor: CommandDefinition = {
  name: 'doctor',
  group: 'Host',
  summary: 'Say what this host can enforce, with fixes',
  details:
    'Starts a sandbox of each tier in a throw-away workspace and tries each layer, from inside and from outside. Tier C ' +
    'is a wall around a command, Tier B only limits it. Exits with 0 when Tier C is available and with 5 when it is ' +
    'not: then its calls are refused, never run with less. Changes nothing; palyrad need not run.',
  async run(_input, context) {
    // Late, because most commands never need it.
    const { probeHost } = await import('@palyra/sandbox');
    const said: string[] = [];
    context.terminal?.progress('Starting a sandbox of each tier ...');
    const report = await probeHost({
      operator: operatorOf(context),
      logger: { error: ({ text }) => void said.push(`The launcher said: ${visibleText(String(text))}`) },
      temporaryDirectory: tmpdir(),
    });
    const isWalled = report.tiers.some(({ tier, state }) => tier === 'C' && state === 'available');
    return {
      json: { ...hostReportAsJson(report), warnings: said },
      render: (paint) => renderHostReport(report, paint),
      warnings: said,
      exitCode: isWalled ? EXIT_CODES.done : EXIT_CODES.unenforceable,
    };
  },
};

function operatorOf(context: CommandContext): ProbeDeps['operator'] {
  const { root } = findHome(context).home;
  const named = Object.entries(context.variables).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    path: context.variables['PATH'] ?? '',
    home: homeOf(context) ?? root,
    palyraHome: root,
    environment: Object.fromEntries(named),
  };
}

/** A user without a home has no credentials in it. */
function homeOf(context: CommandContext): string | undefined {
  try {
    return context.userHome();
  } catch {
    return undefined;
  }
}
