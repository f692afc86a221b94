/**
 * Handles the requests of each connection one after the other. While requests wait, the server reads nothing from their
 * connection. A client that sends requests but does not read the responses therefore cannot fill the memory.
 */
import type { Buffer } from "node:buffer";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * How many bytes the HTTP parser gets at a time. It passes on all requests in them at once, and takes 2 KB of memory for
 * each request. The operating system delivers up to 64 KB at a time.
 */
const PIECE = 512;

interface Pipeline {
  readonly socket: Socket;
  /** Whether the client has not taken the response to the current request yet. */
  isBusy: boolean;
  /** Requests that arrived before the client took the response to the previous request. */
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** Bytes that the HTTP parser has not got yet. */
  unparsed: Buffer<ArrayBuffer> | undefined;
  readonly parse: (piece: Buffer<ArrayBuffer>) => void;
  /** Called when the client has taken a response. Not a closure of the request; see `Exchange` in request_handler.ts. */
  readonly finish: () => void;
}

export class Pipelines {
  readonly #handle: RequestListener;
  readonly #pipelines = new WeakMap<object, Pipeline>();
  /** Pipelines with unparsed bytes and without waiting requests. They take turns. */
  readonly #queue = new Set<Pipeline>();

  /** Passes requests to `handle`. */
  constructor(handle: RequestListener) {
    this.#handle = handle;
  }

  /** Handles the requests of a server. */
  attach(server: Server, isTls: boolean): void {
    const event = isTls ? "secureConnection" : "connection";
    server.prependListener(event, keepReadable);
    server.on(event, (socket: Socket) => this.#control(socket));
    server.on("request", (request: IncomingMessage, response: ServerResponse) => this.#add(request, response));
  }

  /** Returns whether a connection has a request whose response the client has not taken yet. */
  isBusy(connection: object): boolean {
    return this.#pipelines.get(connection)?.isBusy ?? false;
  }

  /** Returns whether further requests of the connection have arrived. */
  hasWaiting(connection: object): boolean {
    return (this.#pipelines.get(connection)?.waiting.length ?? 0) > 0;
  }

  #control(socket: Socket): void {
    const [parse] = socket.listeners("data");
    if (parse === undefined) return;
    const pipeline: Pipeline = {
      socket,
      isBusy: false,
      waiting: [],
      unparsed: undefined,
      parse: (piece) => void parse.call(socket, piece),
      finish: () => this.#finish(pipeline),
    };
    this.#pipelines.set(socket, pipeline);
    const push = socket.push.bind(socket);
    // The runtime calls `push` with what it has read, and stops reading if `push` returns false.
    socket.push = (chunk: Buffer<ArrayBuffer> | null) => {
      if (chunk === null) return push(null);
      pipeline.unparsed = chunk;
      parseWhileNoneWaits(pipeline);
      if (pipeline.unparsed === undefined) return true;
      // The HTTP server resumes the socket after each request that it has parsed.
      socket.resume = () => socket;
      return false;
    };
  }

  #add(request: IncomingMessage, response: ServerResponse): void {
    const pipeline = this.#pipelines.get(request.socket);
    if (pipeline === undefined) return this.#handle(request, response);
    if (pipeline.isBusy) pipeline.waiting.push([request, response]);
    else this.#start(pipeline, request, response);
  }

  #start(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    // No response can be sent: the server has closed the connection or is closing it.
    if (!pipeline.socket.writable) return;
    pipeline.isBusy = true;
    response.on("close", pipeline.finish);
    this.#handle(request, response);
  }

  #finish(pipeline: Pipeline): void {
    const { waiting } = pipeline;
    const next = waiting.shift();
    if (next === undefined) pipeline.isBusy = false;
    else this.#start(pipeline, ...next);
    if (pipeline.unparsed !== undefined && waiting.length === 0) this.#enqueue(pipeline);
  }

  #enqueue(pipeline: Pipeline): void {
    if (this.#queue.size === 0) setTimeout(() => this.#parseNext());
    this.#queue.add(pipeline);
  }

  /** Lets one pipeline continue. Before the next one continues, the server handles new connections and requests. */
  #parseNext(): void {
    const [pipeline] = this.#queue;
    if (pipeline === undefined) return;
    this.#queue.delete(pipeline);
    if (this.#queue.size > 0) setTimeout(() => this.#parseNext());
    parseWhileNoneWaits(pipeline);
    if (pipeline.unparsed !== undefined) return;
    Reflect.deleteProperty(pipeline.socket, "resume");
    pipeline.socket.resume();
  }
}

/**
 * Makes the runtime pass what it reads to the socket. Otherwise it would pass it to the HTTP parser directly, and read
 * and parse requests without limit.
 */
function keepReadable(socket: { readonly _handle?: { _consumed?: boolean } | null }): void {
  if (socket._handle) socket._handle._consumed = true;
}

function parseWhileNoneWaits(pipeline: Pipeline): void {
  const { socket, waiting, parse } = pipeline;
  while (pipeline.unparsed !== undefined && waiting.length === 0) {
    const bytes = pipeline.unparsed;
    pipeline.unparsed = bytes.length > PIECE ? bytes.subarray(PIECE) : undefined;
    // Drops what follows a malformed request or a request to upgrade the protocol.
    if (socket.writable) parse(bytes.length > PIECE ? bytes.subarray(0, PIECE) : bytes);
  }
}
