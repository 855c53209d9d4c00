import { formatTarget, type HostRule, readHostRule } from '@palyra/egress';
import { GatewayError, type ToolCallConfig } from '@palyra/gateway';
import { itemsOf } from './listed-items.ts';

type ProcessHosts = Pick<ToolCallConfig['processRunner'], 'allowedHosts' | 'allowedHostSuffixes'>;

/** `process_runner.hosts`, as the signed snapshot has it. Throws `gateway.invalid_config`. */
export function processHostsOf(list: string): ProcessHosts {
  const rules = itemsOf(list).map(ruleOf);
  const hosts = (kind: HostRule['kind'], text: (rule: HostRule, port: number) => string) =>
    rules.filter((rule) => rule.kind === kind).flatMap((rule) => rule.ports.map((port) => text(rule, port)));
  return {
    allowedHosts: hosts('exact', ({ host }, port) => formatTarget({ host, port })),
    allowedHostSuffixes: hosts('subdomains', ({ host }, port) => `.${host}:${port}`),
  };
}

/** As a call would name them. */
export function namedHosts({ allowedHosts, allowedHostSuffixes }: ProcessHosts): readonly string[] {
  return [...allowedHosts, ...allowedHostSuffixes.map((suffix) => `*${suffix}`)];
}

function ruleOf(text: string): HostRule {
  const read = readHostRule(text);
  if (read.kind === 'refused') throw invalid(read.message, read.fix);
  // SECURITY: T-20 — the record has no scheme: without it the rule would be wider than what was written.
  if (read.rule.scheme === undefined) return read.rule;
  throw invalid(
    `${JSON.stringify(text)} has a scheme.`,
    'Write HOST:PORT; a call that wants the scheme held names it.',
  );
}

function invalid(sentence: string, fix: string): GatewayError {
  return new GatewayError('gateway.invalid_config', `process_runner.hosts: ${sentence}`, { fix });
}
