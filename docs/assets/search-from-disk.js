// A page opened from disk may not start a worker. There an invisible frame does the search in its place.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.started = load(inside.document, url).then(() => inside);
      this.terminate = () => frame.remove();
    }
    postMessage(data) {
      this.started.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  const load = (page, url) =>
    new Promise((done, failed) => {
      const script = Object.assign(page.createElement("script"), { src: url, onload: done, onerror: failed });
      page.documentElement.append(script);
    });
}
