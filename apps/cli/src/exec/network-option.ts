import { CliError } from '../cli-error.ts';
import type { CommandToRun } from './run-command.ts';

type Network = Pick<CommandToRun, 'network' | 'egress' | 'unlisted'>;

/** A number alone is one more port of the host in front of it. */
const BETWEEN_HOSTS = /,(?!\s*[0-9]+\s*(?:,|$))/;

/**
 * `--net`, in the words that the tool takes. Absent: as the operator configured it, which is to ask. Throws
 * `cli.invalid_option`; whether a host is one is for palyrad to say.
 */
export function networkOption(typed: unknown, sandbox: 'strict' | 'limits'): Network {
  if (typed === undefined) return {};
  if (typed === 'off') return { network: [], unlisted: 'deny' };
  if (typed === 'open') return { egress: 'none' };
  const words = typeof typed === 'string' ? typed.split(BETWEEN_HOSTS).map((word) => word.trim()) : [];
  const hosts = words.filter((word) => word !== 'ask' && word !== '');
  const isAsked = words.includes('ask');
  if (hosts.includes('off') || hosts.includes('open') || (hosts.length === 0 && !isAsked)) {
    throw new CliError('cli.invalid_option', '--net takes off, ask, open, or hosts.', {
      fix: 'Write --net example.org,git.example.org:22,443 or --net ask,example.org.',
    });
  }
  // Without a box nothing can be held: hosts are looked at before it starts, and that is what is asked about.
  if (sandbox === 'limits' && !isAsked) return { network: hosts, egress: 'preflight' };
  return { network: hosts, unlisted: isAsked ? 'ask' : 'deny' };
}
