/** Whether a call was ended because its time was over, and not because somebody cancelled it. */
export function timeIsOver({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.name === 'TimeoutError';
}
