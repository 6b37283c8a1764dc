import net from 'node:net'

/** One connection that went through a tap. */
export interface TappedConnection {
  /** Resolves when the client has closed or reset it. */
  readonly closed: Promise<void>
  isClosed: boolean
  sent: string
}

/** Stands between a client and a server and watches the connections, where the server cannot tell. */
export class Tap {
  readonly #server: net.Server
  readonly #connections: TappedConnection[] = []
  readonly #sockets = new Set<net.Socket>()

  private constructor(targetPort: number) {
    this.#server = net.createServer(client => this.#pass(client, net.connect(targetPort, '127.0.0.1')))
  }

  static async start(targetUrl: string): Promise<Tap> {
    const tap = new Tap(Number(new URL(targetUrl).port))
    await new Promise<void>(resolve => tap.#server.listen(0, '127.0.0.1', resolve))
    return tap
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  /** The connection over which `text` was sent, once it has been. */
  carrying(text: string): TappedConnection | undefined {
    return this.#connections.find(connection => connection.sent.includes(text))
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #pass(client: net.Socket, server: net.Socket): void {
    const connection: TappedConnection = {
      isClosed: false,
      sent: '',
      closed: new Promise(resolve => client.once('close', () => resolve())),
    }
    this.#connections.push(connection)
    client.on('data', bytes => {
      connection.sent += bytes.toString('latin1')
    })
    client.on('close', () => {
      connection.isClosed = true
    })
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
    }
    client.pipe(server).pipe(client)
    client.on('close', () => server.destroy())
    // A cut must arrive as a cut, not as a good end.
    server.on('close', hadError => hadError && client.resetAndDestroy())
  }
}
