/** Codes are API: add one, never rename one. How a tool can end that began, other than by itself. */
export const TOOL_OUTCOMES = {
  'tool.cancelled': 'It was cancelled.',
  'tool.timed_out': 'It took longer than it may.',
  'tool.silent': 'It printed nothing for longer than it may.',
  'tool.signalled': 'It was ended by a signal that is not ours.',
  'tool.lost': 'The launcher died while it ran: what it did until then is done, how far it came is not known.',
  'tool.cpu_exceeded': 'It used more CPU time than it may.',
  'tool.memory_exceeded': 'It used more memory than it may.',
  'tool.processes_exceeded': 'It started more processes than it may.',
  'tool.output_exceeded': 'It printed more than it may.',
  'tool.file_size_exceeded': 'It wrote a larger file than it may.',
  'tool.disk_exceeded': 'It used more temporary disk space than it may.',
} as const;

export type ToolOutcomeCode = keyof typeof TOOL_OUTCOMES;
