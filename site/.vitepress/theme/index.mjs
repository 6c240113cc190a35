import DefaultTheme from 'vitepress/theme'
import { nextTick } from 'vue'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ router }) {
    if (typeof document !== 'undefined') {
      router.onAfterRouteChange = () => nextTick(markMainLandmark)
    }
  },
}

/** The theme's home page has no main landmark; its other pages have one of their own. */
function markMainLandmark() {
  const content = document.getElementById('VPContent')
  if (content?.classList.contains('is-home')) {
    content.setAttribute('role', 'main')
  } else {
    content?.removeAttribute('role')
  }
}
