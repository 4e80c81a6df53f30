import { MalformedMessage, type SipMessage } from "../message/sip-message.ts";
import { countMalformed, type TransportCounters } from "./counters.ts";
import type { Flow, TransportHandlers } from "./transport.ts";

/** Something that writes a message to its socket now. */
export interface Writer {
  write(text: string): void;
}

interface Departure {
  readonly writer: Writer;
  readonly text: string;
}

/**
 * The three stages of a turn of the event loop: socket callbacks only put messages in; one `setImmediate` hands them all to
 * the handlers, and then to the application; what those send is written afterwards. Handlers never run inside a socket's callback: with the whole
 * application behind them that costs a third of a call's CPU (the system calls then find cold caches).
 */
export class Turn {
  readonly #handlers: TransportHandlers;
  readonly #counters: TransportCounters;
  #inbox: (() => void)[] = [];
  #stages: (() => void)[] = [];
  #outbox: Departure[] = [];
  #scheduled = false;
  #running = false;

  constructor(handlers: TransportHandlers, counters: TransportCounters) {
    this.#handlers = handlers;
    this.#counters = counters;
  }

  /** Takes a message in; the handlers see it in the next turn. */
  receive(message: SipMessage | MalformedMessage, flow: Flow, bytes: number): void {
    this.#counters.bytesIn += bytes;
    this.defer(() => {
      if (message instanceof MalformedMessage) {
        countMalformed(this.#counters, message.reason);
        this.#handlers.malformed(message, flow);
      } else {
        this.#counters.messagesIn++;
        this.#handlers.message(message, flow, bytes);
      }
    });
  }

  /** Runs `job` in the next turn, in order with the messages: the failure of a path, say. */
  defer(job: () => void): void {
    this.#inbox.push(job);
    this.#schedule();
  }

  /** Runs `job` once the messages of this turn are handled; asked for from within such a job, in the next turn. */
  stage(job: () => void): void {
    this.#stages.push(job);
    this.#schedule();
  }

  /** Writes now, or at the end of the turn that is running. */
  send(writer: Writer, text: string): void {
    if (this.#running) this.#outbox.push({ writer, text });
    else this.#write(writer, text);
  }

  /** Writes what the running turn has sent so far. */
  flush(): void {
    const outbox = this.#outbox;
    if (outbox.length === 0) return;
    this.#outbox = [];
    for (const { writer, text } of outbox) this.#write(writer, text);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    this.#running = true;
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const job of inbox) this.#do(job);
    const stages = this.#stages;
    this.#stages = [];
    this.#scheduled = false;
    if (this.#inbox.length > 0) this.#schedule();
    for (const job of stages) this.#do(job);
    this.#running = false;
    this.flush();
  };

  #do(job: () => void): void {
    try {
      job();
    } catch (error) {
      this.defect(error);
    }
  }

  /** Runs `job` once what has arrived so far is handled and answered. */
  afterwards(job: () => void): void {
    this.defer(() => {
      this.flush();
      job();
    });
  }

  /** Counts and passes on what a handler or listener threw. */
  defect(error: unknown): void {
    this.#counters.defects++;
    this.#handlers.defect?.(error);
  }

  #write(writer: Writer, text: string): void {
    this.#counters.messagesOut++;
    this.#counters.bytesOut += text.length;
    writer.write(text);
  }
}
