import { type HostWarning, inspectHost, visibleText } from '@palyra/primitives';

export interface LookalikeOptions {
  /** Hosts the operator knows, in ASCII. */
  readonly known?: readonly string[];
}

/** A sentence for the eyes of whoever decides about this host, or undefined when it is what it looks like. */
export function lookalikeWarning(host: string, { known = [] }: LookalikeOptions = {}): string | undefined {
  const [warning] = inspectHost(host, { known }).warnings;
  return warning === undefined ? undefined : sentenceOf(warning);
}

function sentenceOf(warning: HostWarning): string {
  switch (warning.kind) {
    case 'not_a_host':
      return 'This is not a host name.';
    case 'rewritten':
      return 'It was written otherwise than what is connected to.';
    case 'bad_punycode':
      return `${shown(warning.label)} is not the code of any name.`;
    case 'mixed_scripts':
      return `${shown(warning.label)} mixes letters of ${warning.scripts.join(' and ')}.`;
    case 'whole_script':
    case 'look_alike_letters':
      return `${shown(warning.label)} passes for ${shown(warning.readsAs)}.`;
    case 'odd_characters':
      return `${shown(warning.label)} has characters that pass for others.`;
    case 'mixed_directions':
      return 'It mixes letters that run from the left and from the right.';
    case 'resembles':
      return `It looks like ${shown(warning.known)} and is another host.`;
  }
}

function shown(text: string): string {
  return visibleText(text, { maxCharacters: 80, isEmbedded: true });
}
