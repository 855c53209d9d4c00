import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT_CODES } from '@palyra/agents/exits';
import { visibleText } from '@palyra/primitives';
import type { ProbeDeps } from '@palyra/sandbox';
import { probeHooks } from '../clients/probe-hooks.ts';
import type { CommandContext, CommandDefinition, CommandResult } from '../command.ts';
import { findHome } from '../find-home.ts';
import { makeHome } from '../make-home.ts';
import { renderCoverage } from '../render/client-coverage.ts';
import { hostReportAsJson, renderHostReport } from '../render/host-report.ts';
import { renderScorecard } from '../render/scorecard.ts';
import { readVersion } from '../version.ts';

/** What was tried just now, never what was true another time. */
export const doctor: CommandDefinition = {
  name: 'doctor',
  group: 'Host',
  summary: 'Say what this host can enforce, with fixes',
  details:
    'Starts a sandbox of each tier in a throw-away workspace and tries each layer, from inside and from outside. Tier C ' +
    'is a wall around a command, Tier B only limits it. Exits with 0 when Tier C is available and with 5 when it is ' +
    'not: then its calls are refused, never run with less. Also runs the hook of each agent that was set up with palyra ' +
    'install, and says whether palyrad answers and whether the settings are as install leaves them. Changes nothing; palyrad need not run.',
  options: [{ flags: '--attack', summary: 'Try to get out of the box, and sign a scorecard' }],
  async run({ options }, context) {
    if (options['attack'] === true) return attack(context);
    // Late, because most commands never need it.
    const { probeHost } = await import('@palyra/sandbox');
    const said: string[] = [];
    context.terminal?.progress('Starting a sandbox of each tier ...');
    const report = await probeHost({
      operator: operatorOf(context),
      logger: { error: ({ text }) => void said.push(`The launcher said: ${visibleText(String(text))}`) },
      temporaryDirectory: tmpdir(),
    });
    const clients = await probeHooks(context);
    const isWalled = report.tiers.some(({ tier, state }) => tier === 'C' && state === 'available');
    return {
      json: { ...hostReportAsJson(report), clients, warnings: said },
      render: (paint) => `${renderHostReport(report, paint)}${renderCoverage(clients, paint)}`,
      warnings: said,
      exitCode: isWalled ? EXIT_CODES.done : EXIT_CODES.unenforceable,
    };
  },
};

/** On a home that is thrown away; the scorecard goes into the caller's own, which is made where there is none. */
async function attack(context: CommandContext): Promise<CommandResult> {
  const { runBattery } = await import('../attack/run-battery.ts');
  const { writeScorecard } = await import('../attack/scorecard.ts');
  const { home } = findHome(context);
  if (!existsSync(join(home.identity, 'operator'))) await makeHome(context);
  const rows = await runBattery(context);
  const scorecard = await writeScorecard(home, { version: readVersion(), at: new Date().toISOString(), rows });
  const isHeld = rows.every(({ status }) => status === 'stopped');
  return {
    json: { rows, scorecard },
    render: (paint) => `${renderScorecard(rows, paint)}Signed: ${visibleText(scorecard)}\n`,
    exitCode: isHeld ? EXIT_CODES.done : EXIT_CODES.unenforceable,
  };
}

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
