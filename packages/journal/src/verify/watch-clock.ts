/** Times that go back are no fault: order is by number. But whoever reads the times should know. */
export interface ClockWatch {
  see(seq: number, time: number): void;
  remarks(): readonly string[];
}

export function createClockWatch(): ClockWatch {
  let latest = 0;
  let backwards = 0;
  let firstBackwards = 0;
  return {
    see(seq, time) {
      if (time < latest) {
        if (backwards === 0) firstBackwards = seq;
        backwards += 1;
      }
      latest = time;
    },
    remarks: () =>
      backwards === 0 ? [] : [`The clock went back ${backwards} times, first at entry ${firstBackwards}.`],
  };
}
