// Browsers do not fetch pages from file://, where the search takes its excerpts from.
// There the excerpts come from a script with the text of every page.
if (location.protocol === "file:") {
  const root = new URL("..", document.currentScript.src).href;
  const texts = new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = root + "_static/search-texts.js";
    script.onload = () => resolve(window.SEARCH_TEXTS);
    script.onerror = reject;
    document.head.append(script);
  });
  window.fetch = async (address) => {
    const page = new URL(address, location.href).href.slice(root.length).replace(/#.*/, "");
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = (await texts)[page] || "";
    return { text: async () => main.outerHTML };
  };
}
